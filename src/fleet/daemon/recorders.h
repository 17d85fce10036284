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
#include <string_view>
#include <vector>

namespace rochound::fleet {

// The folders of logs of one process each (trace/log_name.h), absolute.
std::vector<std::filesystem::path> FindRecordedLogs();

// Such folders in this folder, and in the folders in it.
std::vector<std::filesystem::path> ListLogs(const std::filesystem::path& folder);

// Which part of which job a process is, from the variables that schedulers and launchers set.
struct JobPlace {
  std::string job;     // "none": no scheduler said
  int64_t rank = -1;   // not known
  int64_t ranks = -1;  // how many the job has; not known
};
JobPlace FindJobPlace(pid_t process);

// The release of ROCm that a process uses, as the name of its HIP library says it ("7.2.4"), or of
// its HSA library ("HSA 1.18.0") where there is no HIP. Empty: neither is loaded, or nothing is
// told.
std::string FindRocmRelease(pid_t process);
// The same from the text of /proc/PID/maps.
std::string RocmReleaseOf(std::string_view maps);

// What a process does on the host, as the kernel knows it.
struct HostState {
  std::string program;        // its name: python3
  uint64_t processor_ns = 0;  // that all its threads have used
  std::string waits_in;       // where its first thread sleeps in the kernel; empty: it does not
};
HostState FindHostState(pid_t process);

}  // namespace rochound::fleet
