// SPDX-License-Identifier: MIT
//
// Counters of kernel launches, whoever counted them: one interface, one file per source. Offline;
// any thread; what is returned belongs to the caller. A value that a source does not have is not
// in the map: missing is missing, and never 0.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rochound::profile {

using Values = std::map<std::string, double, std::less<>>;

struct Launch {
  std::string kernel;       // the symbol without ".kd", or the C++ name if the source has no other
  std::string code_object;  // where it was loaded from, if that is the same in every run; or ""
  std::string gpu;          // "" if the source does not say it; the same below
  std::string target;
  uint64_t process = 0;
  uint64_t order = 0;              // among the launches of its process, as the source numbers them
  std::array<uint64_t, 3> grid{};  // in work-items; sources that know only the product have {n,1,1}
  std::array<uint64_t, 3> workgroup{};
  bool completed = true;
  std::optional<double> nanoseconds;  // measured on a GPU
  Values exact;                       // counted
  Values modelled;                    // what a model makes of the counts; never mixed with them
};

struct CounterSet {
  std::string source;  // for people: "rocprofv3, 2 passes"
  std::vector<Launch> launches;
  std::vector<std::string> warnings;  // what is doubtful, to be shown first
};

class CounterSource {
 public:
  virtual ~CounterSource() = default;
  virtual base::Result<CounterSet> Read() const = 0;
};

// A file of `rochound softgpu --counters`.
std::unique_ptr<CounterSource> SoftgpuCounters(std::filesystem::path file);

// Files of rocprofv3 (csv, json, rocpd) or rocprofiler-compute (pmc_perf.csv), or folders that
// hold them. What is below one pass_N
// belongs to one pass; every other file is a pass of its own.
std::unique_ptr<CounterSource> RocprofFiles(std::vector<std::filesystem::path> paths);

// One launch for what several runs of the same program counted of it. A launch is known by code
// object, kernel, shape and how many of these came before it. Counters that a pass lacks for a
// launch are missing.
CounterSet MergePasses(const std::vector<CounterSet>& passes);

}  // namespace rochound::profile
