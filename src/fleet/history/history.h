// SPDX-License-Identifier: MIT
//
// What the lake knows about kernels, merged as asked: by build, host, ROCm release, day, job or
// rank. Offline code, one thread; the lake's view `sketches` must have been made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/history/regressions.h"
#include "fleet/lake/lake.h"
#include "fleet/sketch/histogram.h"

namespace rochound::fleet {

// Which rows are looked at; empty: all.
struct HistoryFilter {
  std::string job;
  std::string kernel;        // a part of its symbol, or of its name as a person writes it
  std::string since, until;  // days, YYYY-MM-DD, both included
};
// As a condition on the view, without " WHERE "; losses are left out.
std::string Condition(const HistoryFilter& filter);

// What sketches can be kept apart by; the words are those of the command line.
struct HistoryKey {
  const char* word;
  const char* sql;
};
extern const std::vector<HistoryKey> kHistoryKeys;

struct KernelHistory {
  std::string kernel;
  std::vector<std::string> keys;  // in the order in which they were asked for
  Histogram ns;
  uint64_t launches = 0, untimed = 0;
};
// The most time first. by: words of kHistoryKeys.
base::Result<std::vector<KernelHistory>> LoadKernels(Lake& lake, const HistoryFilter& filter,
                                                     const std::vector<std::string>& by);

// One per kernel, build, process, GPU and size of launch.
base::Result<std::vector<Observation>> LoadObservations(Lake& lake, const HistoryFilter& filter);

struct JobHistory {
  std::string job;
  uint64_t ranks = 0, hosts = 0, processes = 0, gpus = 0, kernels = 0;
  uint64_t launches = 0, busy_ns = 0, lost = 0;
  uint64_t first_ns = 0, last_ns = 0;  // CLOCK_REALTIME
};
// The last ones first. With a kernel: the jobs that ran it, and what they did with it.
base::Result<std::vector<JobHistory>> LoadJobs(Lake& lake, const HistoryFilter& filter);

}  // namespace rochound::fleet
