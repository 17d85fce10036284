// SPDX-License-Identifier: MIT
//
// What /proc/PID/stat says of a process. Any thread; nothing is kept.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace rochound::base {

struct ProcessStat {
  char state = 0;  // R, S, D, T, Z, ...
  pid_t parent = 0;
  uint64_t processor_ticks =
      0;                     // of all its threads, in user and kernel mode; sysconf(_SC_CLK_TCK)
  uint64_t start_ticks = 0;  // since the machine started
};

// Nothing: there is no such process.
std::optional<ProcessStat> ReadProcessStat(pid_t process);
// The same from the file's text.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

}  // namespace rochound::base
