// SPDX-License-Identifier: MIT
#include "fleet/daemon/recorders.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

#include "base/parse.h"
#include "base/process_stat.h"
#include "launch/control_client.h"
#include "launch/output_name.h"
#include "trace/log_name.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using base::ParseNumber;
using trace::ParseLogName;

std::optional<std::string> Variable(const std::string& environment, std::string_view name) {
  size_t at = 0;
  while (at < environment.size()) {
    const size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view entry(environment.data() + at, end - at);
    if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> FindRecordedLogs() {
  std::vector<fs::path> logs;
  std::set<pid_t> processes;
  for (const auto& socket : launch::FindControlSockets(launch::Whose::kEverybodys))
    processes.insert(socket.process);
  for (const pid_t process : processes) {
    // ADDRESS PERMISSIONS OFFSET DEVICE INODE PATH. A log's first segment is mapped for good.
    std::ifstream maps(fmt::format("/proc/{}/maps", process));
    std::set<fs::path> folders;
    for (std::string line; std::getline(maps, line);) {
      const size_t path = line.find('/');
      if (path == std::string::npos || !line.ends_with("/segment-000000")) continue;
      const fs::path folder = fs::path(line.substr(path)).parent_path();
      if (ParseLogName(folder).process == process) folders.insert(folder);
    }
    logs.insert(logs.end(), folders.begin(), folders.end());
  }
  return logs;
}

std::vector<fs::path> ListLogs(const fs::path& folder) {
  std::vector<fs::path> logs;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (ParseLogName(it->path()).process != 0) {
      logs.push_back(fs::absolute(it->path()));
      continue;
    }
    std::error_code inner;
    if (!it->is_directory(inner)) continue;
    for (fs::directory_iterator two(it->path(), inner); !inner && two != end; two.increment(inner))
      if (ParseLogName(two->path()).process != 0) logs.push_back(fs::absolute(two->path()));
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

HostState FindHostState(pid_t process) {
  const auto line = [&](const char* name) {
    std::ifstream file(fmt::format("/proc/{}/{}", process, name));
    std::string text;
    std::getline(file, text);
    return text;
  };
  HostState host;
  host.program = line("comm");
  host.waits_in = line("wchan");
  if (host.waits_in == "0") host.waits_in.clear();
  if (const auto stat = base::ReadProcessStat(process))
    host.processor_ns =
        stat->processor_ticks * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
  return host;
}

JobPlace FindJobPlace(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/environ", process), std::ios::binary);
  const std::string environment((std::istreambuf_iterator<char>(file)), {});
  JobPlace place;
  for (const char* name : {"ROCHOUND_JOB", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PBS_JOBID"})
    if (auto job = Variable(environment, name); job && !job->empty()) {
      place.job = *job;
      break;
    }
  if (place.job.empty()) place.job = "none";
  for (const char* name : launch::kRankVariables)
    if (const auto rank = Variable(environment, name); rank && ParseNumber(*rank, &place.rank))
      break;
  // A message with a rank that no column of the lake holds would be refused as a whole.
  if (place.rank < -1 || place.rank > INT32_MAX) place.rank = -1;
  for (const char* name :
       {"ROCHOUND_RANKS", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})
    if (const auto ranks = Variable(environment, name); ranks && ParseNumber(*ranks, &place.ranks))
      break;
  return place;
}

std::string RocmReleaseOf(std::string_view maps) {
  // Files are mapped by their full name: libamdhip64.so.7.2.4, and AMD's .so.7.1.70101.
  const auto version = [&](std::string_view library) -> std::string {
    for (size_t at = maps.find(library); at != std::string_view::npos;
         at = maps.find(library, at + 1)) {
      std::string_view rest = maps.substr(at + library.size());
      rest = rest.substr(0, std::min(rest.find_first_not_of("0123456789."), rest.size()));
      if (!rest.empty()) return std::string(rest);
    }
    return {};
  };
  if (std::string hip = version("/libamdhip64.so."); !hip.empty()) return hip;
  const std::string hsa = version("/libhsa-runtime64.so.");
  return hsa.empty() ? "" : "HSA " + hsa;
}

std::string FindRocmRelease(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/maps", process));
  const std::string maps((std::istreambuf_iterator<char>(file)), {});
  return RocmReleaseOf(maps);
}

}  // namespace rochound::fleet
