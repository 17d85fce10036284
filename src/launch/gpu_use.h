// SPDX-License-Identifier: MIT
//
// Which processes of a program used a GPU and were not recorded, and why. A trace without them
// looks like a GPU that had nothing to do. Looks at the processes from outside, by /proc, while the
// program runs: afterwards there is nothing to be seen of them. A process that has the driver open
// for less than a look's distance (10 ms at first) may be missed. One thread, no failure: what
// cannot be read is not known.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rochound::launch {

struct UnrecordedProcess {
  pid_t pid = 0;
  std::string command;
  std::string reason;  // why the agent was not loaded, and what to do about it
};

class GpuUse {
 public:
  // agent: the library as HSA_TOOLS_LIB names it; log_directory: where each process leaves its log.
  GpuUse(std::filesystem::path agent, std::filesystem::path log_directory);

  // Looks at the process and its descendants; the time until the next look.
  std::chrono::milliseconds Look(pid_t root);

  // Processes that the program left behind, as daemons are: they would write to this log.
  std::vector<pid_t> LeftBehind() const;

  // Processes that had the driver open and left no log.
  std::vector<UnrecordedProcess> Unrecorded() const;

 private:
  // What a process had when it was last seen with the driver open.
  struct User {
    std::string command;
    std::vector<std::string> libraries;      // files that it had mapped
    std::optional<std::string> tools;        // HSA_TOOLS_LIB
    std::optional<std::string> v1_tools;     // HSA_TOOLS_ROCPROFILER_V1_TOOLS
    std::optional<std::string> registering;  // ROCPROFILER_REGISTER_LIBRARY
    bool environment_known = false;
    bool sees_agent = true;  // the agent's file is there in its file system
  };

  bool LeftLog(pid_t process) const;
  void LookAt(pid_t process);
  // Whether another process was seen before with its HSA runtime at this very place.
  bool IsForked(pid_t process, const std::string& runtime_start);
  std::string Reason(const User& user) const;

  std::filesystem::path agent_;
  std::filesystem::path log_directory_;
  std::chrono::steady_clock::time_point start_;
  std::map<pid_t, User> users_;
  std::set<pid_t> recorded_;                 // of these the place of the HSA runtime is known
  std::map<std::string, pid_t> first_with_;  // by that place
};

// The unrecorded ones in one sentence each.
std::string Describe(const UnrecordedProcess& process);

}  // namespace rochound::launch
