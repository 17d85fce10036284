// SPDX-License-Identifier: MIT
//
// The time that a trace tells about: from its first event to its last, without the times that were
// not recorded (table rochound_unrecorded: pauses, ranges that were not asked for, what --last
// dropped). What happened in those is not known, so nobody may call them idle, waiting or the
// program's own time.
//
// Rule for every question: a sum over [from, to) is window.Recorded(from, to), not to - from;
// shares are of window.length(), which is what was recorded. A walk that needs the pieces asks
// ForEachRecorded. In a trace without pauses these are the plain differences. Made by LoadWindow
// (trace_rows.h); plain data, cannot fail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::analysis {

struct Window {
  struct Span {
    int64_t begin = 0, end = 0;
    int64_t before = 0;  // length of all spans before this one
  };

  int64_t begin = 0, end = 0;
  // What was not recorded of at least one process that lived then; in order, apart from each other.
  std::vector<Span> unrecorded{};

  int64_t length() const { return Recorded(begin, end); }

  // How much of [from, to) was recorded.
  int64_t Recorded(int64_t from, int64_t to) const {
    if (from >= to) return 0;
    return to - from - (UnrecordedBefore(to) - UnrecordedBefore(from));
  }

  // visit(from, to) for each recorded part of [from, to), in order.
  template <typename Visit>
  void ForEachRecorded(int64_t from, int64_t to, const Visit& visit) const {
    for (size_t i = FirstEndingAfter(from); i < unrecorded.size() && from < to; ++i) {
      const Span& span = unrecorded[i];
      if (span.begin >= to) break;
      if (span.begin > from) visit(from, span.begin);
      from = std::max(from, span.end);
    }
    if (from < to) visit(from, to);
  }

 private:
  size_t FirstEndingAfter(int64_t time) const {
    const auto found = std::upper_bound(unrecorded.begin(), unrecorded.end(), time,
                                        [](int64_t a, const Span& b) { return a < b.end; });
    return static_cast<size_t>(found - unrecorded.begin());
  }
  int64_t UnrecordedBefore(int64_t time) const {
    const size_t i = FirstEndingAfter(time);
    if (i < unrecorded.size())
      return unrecorded[i].before + std::max<int64_t>(0, time - unrecorded[i].begin);
    if (unrecorded.empty()) return 0;
    return unrecorded.back().before + unrecorded.back().end - unrecorded.back().begin;
  }
};

// What was not recorded, as a window has it.
base::Result<std::vector<Window::Span>> LoadUnrecorded(store::duck::Connection& connection);

}  // namespace rochound::analysis
