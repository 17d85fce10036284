// SPDX-License-Identifier: MIT
//
// Which kernels became slower with another build. Pure; offline code, one thread.
//
// An observation is one process: the median time of one kernel on one GPU. Launches of a process
// share its clocks and its data, so they count once, however many there are. Two builds are compared
// within cells alone, a cell being a host, a GPU of it and a size of launch: a slow host or a larger
// problem is not the build's fault. What kernels that did not change did between the same processes
// is taken off: a fleet that became slower as a whole is not the build's fault either.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rochound::fleet {

struct Observation {
  std::string kernel;
  std::string code_object;
  std::string host;
  std::string process;  // unique in the fleet
  std::string rocm;
  std::string job;
  int32_t gpu = 0;
  int32_t size_class = 0;  // of a launch; see SizeClass
  double median_ns = 0;    // above 0
  uint64_t launches = 0;   // that have a time
  uint64_t first_ns = 0;   // the beginning of the first interval, CLOCK_REALTIME
};

// Launches of the same class differ by less than a fifth in their work-items.
int32_t SizeClass(uint64_t work_items, uint64_t launches);

struct Build {
  std::string code_object;
  uint64_t first_seen_ns = 0;
  uint64_t runs = 0;                           // observations that were compared
  uint64_t launches = 0;                       // in them
  double median_ns = 0;                        // the median of the medians that were compared
  std::vector<std::string> hosts, rocm, jobs;  // of those, sorted
};

enum class Verdict {
  kSlower,
  kFaster,
  kSame,          // the change is smaller than asked for, or not certain
  kTooFewRuns,    // a change cannot be told from how runs differ anyway
  kNotComparable  // no GPU ran both with launches of the same size
};
const char* VerdictInWords(Verdict verdict);

struct Comparison {
  std::string kernel;
  Build before, after;
  Verdict verdict = Verdict::kSame;
  double by = 0;             // 0.2: 20% more time; unchanged kernels' change is taken off
  double low = 0, high = 0;  // with the confidence that was asked for, all comparisons together
  double unchanged_by = 0;   // what kernels that did not change did
  uint64_t unchanged = 0;    // how many those are
};

struct RegressionOptions {
  double least = 0.03;        // changes below are not reported
  double confidence = 0.999;  // of all comparisons together
};

// Each build with the last one before it that ran on the same GPUs. Slower ones first, the largest
// change first.
std::vector<Comparison> CompareBuilds(const std::vector<Observation>& observations,
                                      const RegressionOptions& options);

}  // namespace rochound::fleet
