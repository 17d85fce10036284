// SPDX-License-Identifier: MIT
#include "fleet/daemon/recorders.h"

#include <dirent.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "base/control_directory.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;

bool ParseNumber(std::string_view text, auto* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

void AddProcesses(const std::string& directory, uid_t user, std::set<pid_t>* processes) {
  const auto opened = base::OpenPrivateDirectory(directory, user);
  if (!opened.ok()) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(fdopendir(opened.value()), closedir);
  if (listing == nullptr) {
    close(opened.value());
    return;
  }
  while (const dirent* entry = readdir(listing.get()))
    if (const pid_t process = base::ControlSocketProcess(entry->d_name); process != 0)
      processes->insert(process);
}

// Processes with a socket: our own user's, and everybody's that we have the right to see.
std::set<pid_t> ControlledProcesses() {
  std::set<pid_t> processes;
  const auto environment = base::ControlEnvironment::OfThisProcess();
  for (const std::string& directory : base::ControlDirectories(environment, geteuid()))
    AddProcesses(directory, geteuid(), &processes);
  if (environment.control_directory != nullptr) return processes;
  for (const char* pattern : {"/tmp/rochound-*", "/run/user/*/rochound"}) {
    glob_t found{};
    if (glob(pattern, 0, nullptr, &found) == 0)
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        struct stat owner{};
        if (lstat(found.gl_pathv[i], &owner) == 0)
          AddProcesses(found.gl_pathv[i], owner.st_uid, &processes);
      }
    globfree(&found);
  }
  return processes;
}

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
  for (const pid_t process : ControlledProcesses()) {
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

LogName ParseLogName(const fs::path& folder) {
  const std::string name = folder.filename();
  constexpr std::string_view kStart = "process-";
  if (!name.starts_with(kStart)) return {};
  std::string_view rest = std::string_view(name).substr(kStart.size());
  const size_t dash = rest.find('-');
  if (dash == std::string_view::npos) return {};
  LogName parsed;
  const std::string_view start = rest.substr(dash + 1);
  if (!ParseNumber(rest.substr(0, dash), &parsed.process) ||
      !ParseNumber(start.substr(0, start.find('-')), &parsed.start))
    return {};
  return parsed;
}

char ProcessState(const LogName& name) {
  std::ifstream file(fmt::format("/proc/{}/stat", name.process));
  std::string line;
  if (!std::getline(file, line)) return 0;
  // PID (NAME) STATE ...; the name may have anything in it.
  const size_t behind = line.rfind(')');
  if (behind == std::string::npos || behind + 2 >= line.size()) return 0;
  const char state = line[behind + 2];
  size_t at = behind + 2;
  for (int field = 3; field < 22 && at != std::string::npos; ++field) {
    at = line.find(' ', at);
    if (at != std::string::npos) ++at;
  }
  uint64_t start = 0;
  if (at == std::string::npos) return 0;
  const std::string_view value(line.data() + at, std::min(line.find(' ', at), line.size()) - at);
  return ParseNumber(value, &start) && start == name.start ? state : 0;
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
  for (const char* name :
       {"ROCHOUND_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const auto rank = Variable(environment, name); rank && ParseNumber(*rank, &place.rank))
      break;
  for (const char* name :
       {"ROCHOUND_RANKS", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})
    if (const auto ranks = Variable(environment, name); ranks && ParseNumber(*ranks, &place.ranks))
      break;
  return place;
}

}  // namespace rochound::fleet
