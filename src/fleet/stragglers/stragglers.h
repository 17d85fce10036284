// SPDX-License-Identifier: MIT
//
// Which ranks of a job hold the others up, from sketches: the same kernel on all ranks, each rank
// against its own past, and who is waited for inside collectives. Pure functions, any thread.
// docs/guides/fleet.md says what the figures mean; the statistics are described here.
//
// A kernel's time on a rank is the median over intervals of its mean in an interval, without
// launches that took twice the median or more: means are nearly exact in sketches, and the median
// leaves out an interval in which something else happened. Its logarithm minus the median over the ranks is how much slower that kernel is there. The rank's score is the
// mean of that over kernels, weighted by the time that they take: the part by which its work takes
// longer. Collectives are left out, since their time is mostly spent waiting for others; and so is a
// kernel on ranks that give it other work than most do.
//
// A rank that comes late to collectives waits less in them than the others do. Its lateness is the
// median over the ranks of the part of the time that is spent in collectives, minus its own.
//
// A rank is accused if its figure is at least kLeast, and at least kSigmas times the spread of all
// ranks (1.4826 times their median distance from the median, which a normal distribution's standard
// deviation is). The spread is taken as at least kFinest. Fewer than kFewest ranks say nothing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fleet/sketch/histogram.h"

namespace rochound::fleet {

// One kernel on one rank in one interval.
struct KernelInterval {
  int64_t rank = -1;
  std::string host;
  std::string kernel, code_object;
  uint64_t from_ns = 0, interval_ns = 0;
  Histogram nanoseconds;
  uint64_t work_items = 0;  // of all launches
};

struct RankScore {
  int64_t rank = -1;
  std::string host;
  double slower = 0;       // 0.05: its kernels take 5% longer than those of most ranks
  double late = 0;         // 0.05: the others wait for it for 5% of the time
  double than_before = 0;  // 0.05: 5% longer than its own in the past, beyond what all changed
  bool is_slow = false, is_late = false, is_slower_than_before = false;
  std::string worst_kernel;  // which adds the most to `slower`
  double worst_slower = 0;
  bool accused() const { return is_slow || is_late || is_slower_than_before; }
};

struct StragglerReport {
  std::vector<RankScore> ranks;  // the worst first
  double slower_spread = 0, late_spread = 0, before_spread = 0;
  size_t kernels = 0;    // that were compared
  size_t intervals = 0;  // that were looked at, and in the past
  size_t past_intervals = 0;
  std::string why_not;  // nothing can be said; empty: it can

  nlohmann::json AsJson() const;
  std::string AsText() const;
};

inline constexpr double kLeast = 0.035;
inline constexpr double kSigmas = 5;
inline constexpr double kFinest = 0.002;
inline constexpr size_t kFewest = 4;

// Intervals that begin before `since_ns` are the past; 0: there is none.
StragglerReport FindStragglers(const std::vector<KernelInterval>& rows, uint64_t since_ns = 0);

}  // namespace rochound::fleet
