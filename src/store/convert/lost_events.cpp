// SPDX-License-Identifier: MIT
#include "store/convert/lost_events.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "store/convert/newer_runtimes.h"
#include "store/rpd/lost_kinds.h"

namespace rochound::store {

namespace kinds = lost_kinds;

std::vector<LostEvents> ListLostEvents(const trace::ProcessLog& log, const JoinerCounts& counts,
                                       const Filter* filter) {
  std::vector<LostEvents> list;
  const auto add = [&](std::string_view what, uint64_t count, std::string note) {
    list.push_back({std::string(what), count, std::move(note)});
  };
  const auto dropped = [&](trace::DropReason reason, const char* note) {
    if (const uint64_t count = log.Dropped(reason)) add(kinds::kDropped, count, note);
  };
  dropped(trace::DropReason::kNoChunk, "there was no room in the log: disk full, or too fast");
  dropped(trace::DropReason::kNoSignal, "too much GPU work in flight at once");
  dropped(trace::DropReason::kNoString, "there was no room for texts");
  dropped(trace::DropReason::kNotSeen, "packets were submitted and not seen in their queue");
  if (const uint64_t count = log.unknown_reasons_dropped())
    add(kinds::kDropped, count, "for a reason that this release does not know");
  // A flight recorder forgets old chunks on purpose, and with them one half of some pairs.
  const std::string forgotten =
      log.Dropped(trace::DropReason::kRecycled) > 0 ? "; older data was not kept, as asked" : "";
  if (counts.untimed_kernels > 0)
    add("kernel times", counts.untimed_kernels,
        "shown at the time they were submitted at" + forgotten);
  if (counts.untimed_copies > 0)
    add("copy times", counts.untimed_copies,
        "shown at the time they were submitted at" + forgotten);
  if (counts.doubtful_times > 0)
    add("true times", counts.doubtful_times, "the GPU's clock could not be related to the host's");
  const auto newer = [&](const char* what, NotRecorded missed) {
    if (missed.count > 0) add(what, missed.count, std::move(missed.note));
  };
  newer("calls", NewerCalls("HIP", log.Info("hip_version"), log.Info("hip_new_calls")));
  newer("calls", NewerCalls("ROCr", log.Info("hsa_version"), log.Info("hsa_new_calls")));
  newer("packets", NewerPackets(log.Info("new_packets")));
  newer("doorbells", UnknownDoorbells(log.Info("unknown_doorbells")));
  if (counts.filtered_kernels > 0)
    add(kinds::kKernelsLeftOut, counts.filtered_kernels,
        "by --kernel '" + filter->kernels() + "': a GPU was busier than it seems here");
  if (counts.filtered_calls > 0)
    add(kinds::kCallsLeftOut, counts.filtered_calls,
        "by --api '" + filter->calls() +
            "': what the host did meanwhile, and what launched a kernel, may be missing");
  if (counts.waited_for > 0)
    add(kinds::kKernelEnds, counts.waited_for,
        "the process ended before their times were collected; shown up to the call that had "
        "waited for them");
  if (counts.unfinished_kernels > 0)
    add(kinds::kKernelEnds, counts.unfinished_kernels,
        "they had not finished when the process ended; shown as running to its end");
  if (counts.unfinished_copies > 0)
    add(kinds::kCopyEnds, counts.unfinished_copies,
        "they had not finished when the process ended; shown as running to its end");
  if (counts.unfinished_ranges > 0)
    add(kinds::kRangeEnds, counts.unfinished_ranges,
        "they were open when their thread, the process or the recording ended; shown up to there");
  std::map<std::string, uint64_t> pauses;
  for (const trace::Unrecorded& pause : log.unrecorded()) ++pauses[pause.why];
  for (const auto& [why, count] : pauses) add(kinds::kPause, count, why);
  if (!log.finished() && !log.replaced())
    add(kinds::kProcessEnd, 1,
        log.running() ? "it was still running"
                      : "it was killed, or ended by _exit; its last moments may be missing");
  if (counts.lost_calls > 0)
    add("calls", counts.lost_calls, "their work is shown without a call" + forgotten);
  if (counts.calls_without_function > 0)
    add("function names", counts.calls_without_function, "shown by their number");
  for (const std::string& problem : log.problems()) add(kinds::kDamaged, 1, problem);
  return list;
}

}  // namespace rochound::store
