// SPDX-License-Identifier: MIT
//
// What rochound_lost tells, by its column `what`: the kinds that somebody draws conclusions from.
// Others are there as well, of traces that other tools wrote above all. Once written, a word stays.
#pragma once

#include <algorithm>
#include <string_view>

namespace rochound::store::lost_kinds {

inline constexpr std::string_view kEverything = "everything";
inline constexpr std::string_view kProcess = "unrecorded process";
inline constexpr std::string_view kEndedEarly = "recording ended early";
inline constexpr std::string_view kDropped = "records dropped";
inline constexpr std::string_view kDamaged = "damaged data";
inline constexpr std::string_view kClock = "aligned clock";
// As asked, by --kernel and --api.
inline constexpr std::string_view kKernelsLeftOut = "kernels left out";
inline constexpr std::string_view kCallsLeftOut = "calls left out";
// The calls are in the trace.
inline constexpr std::string_view kCopiesOfCalls = "copies of calls";
// When nothing was recorded, as asked.
inline constexpr std::string_view kPause = "time";
// Nothing of these is missing but their ends: the process ended before.
inline constexpr std::string_view kKernelEnds = "kernels' ends";
inline constexpr std::string_view kCopyEnds = "copies' ends";
inline constexpr std::string_view kRangeEnds = "ranges' ends";
inline constexpr std::string_view kProcessEnd = "a process's end";
inline constexpr std::string_view kCallInFlight = "call in flight";

// Of what was in flight when the process ended.
inline bool IsEnd(std::string_view what) {
  constexpr std::string_view kKinds[] = {kKernelEnds, kCopyEnds, kRangeEnds, kProcessEnd,
                                         kCallInFlight};
  return std::find(std::begin(kKinds), std::end(kKinds), what) != std::end(kKinds);
}

// All that the program did is in the trace, as far as it was asked for.
inline bool IsNoLoss(std::string_view what) { return what == kPause || IsEnd(what); }

// "kernel times", "true times": what happened is in the trace, when is not.
inline bool IsTime(std::string_view what) { return what.ends_with(" times"); }

}  // namespace rochound::store::lost_kinds
