// SPDX-License-Identifier: MIT
//
// What the name of a log's folder says: process-PID-START, or process-PID-START-N where the same
// process has begun a log N times before (it became another program by exec).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

namespace rochound::trace {

struct LogName {
  pid_t process = 0;
  uint64_t start = 0;   // field 22 of /proc/PID/stat
  uint64_t number = 0;  // of the logs that the process has begun before
};
// The folder need not exist. Process 0: it is not the name of a log.
LogName ParseLogName(const std::filesystem::path& folder);

// The path of the log that the same process began after this one. It may not exist.
std::filesystem::path NextLog(const std::filesystem::path& folder, const LogName& name);

// The process's state as /proc shows it: R, S, D, T (stopped), Z, ...; 0: it is not there, or
// another process has its number now.
char ProcessState(const LogName& name);

}  // namespace rochound::trace
