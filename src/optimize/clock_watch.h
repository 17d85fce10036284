// SPDX-License-Identifier: MIT
//
// Looks at the clocks of this machine's AMD GPUs while something is measured, from the driver's
// files (hwmon's freq1_input). A thread of its own, from construction to Stop; where there are no
// such files, nothing is reported.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

namespace rochound::optimize {

struct ClockRange {
  double least = 0, most = 0;  // MHz
  size_t samples = 0;

  // Times that depend on the clock say little about code.
  bool steady() const { return least >= 0.9 * most; }
};

class ClockWatch {
 public:
  // machine: where its sys folder is.
  explicit ClockWatch(const std::filesystem::path& machine);
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;
  ~ClockWatch() { Stop(); }

  // Of the GPU with the highest clock. Several GPUs: the busy one. None: there is no file.
  std::optional<ClockRange> Stop();

 private:
  void Watch();

  std::vector<std::filesystem::path> files_;
  std::vector<ClockRange> ranges_;  // of each file
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace rochound::optimize
