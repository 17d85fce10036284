// SPDX-License-Identifier: MIT
//
// Which processes of this host are being recorded, and where their logs are. Found without asking
// them, since they may be stopped or stuck: a recorder has a socket in a control directory
// (docs/formats/control.md) and keeps the first segment of its log mapped. Read afresh at each
// call, on the daemon's thread; what cannot be read is left out.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rochound::fleet {

// The folders of logs of one process each (process-PID-START), absolute.
std::vector<std::filesystem::path> FindRecordedLogs();

// Such folders in this folder, and in the folders in it.
std::vector<std::filesystem::path> ListLogs(const std::filesystem::path& folder);

struct LogName {
  pid_t process = 0;
  uint64_t start = 0;  // field 22 of /proc/PID/stat
};
// What the folder's name says; process 0: it is no log's.
LogName ParseLogName(const std::filesystem::path& folder);

// A process's state as /proc shows it: R, S, D, T (stopped), Z, ...; 0: it is not there, or another
// process has its number now.
char ProcessState(const LogName& name);

// Which part of which job a process is, from the variables that schedulers and launchers set.
struct JobPlace {
  std::string job;     // "none": no scheduler said
  int64_t rank = -1;   // not known
  int64_t ranks = -1;  // how many the job has; not known
};
JobPlace FindJobPlace(pid_t process);

}  // namespace rochound::fleet
