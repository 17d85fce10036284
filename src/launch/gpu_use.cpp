// SPDX-License-Identifier: MIT
#include "launch/gpu_use.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <system_error>

#include "base/files.h"
#include "codeobj/elf_view.h"
#include "contract/variables.h"
#include "launch/process_tree.h"

namespace rochound::launch {
namespace {

bool Exports(const std::string& library, const char* symbol) {
  const auto bytes = base::ReadFile(library);
  return bytes.ok() && codeobj::ExportsSymbol(bytes.value(), symbol);
}

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

fs::path Proc(pid_t process) { return fs::path("/proc") / std::to_string(process); }

// The driver, or what stands for it on the software GPU.
bool HasDriverOpen(pid_t process) {
  std::error_code error;
  for (fs::directory_iterator it(Proc(process) / "fd", error), end; !error && it != end;
       it.increment(error)) {
    char target[64] = {};
    if (readlink(it->path().c_str(), target, sizeof target - 1) <= 0) continue;
    const std::string_view name(target);
    if (name == "/dev/kfd" || name.starts_with("/memfd:rochound-softgpu-kfd")) return true;
  }
  return false;
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct Maps {
  std::vector<std::string> files;
  // Where its HSA runtime starts. Only a process and those that it forked have it at one place.
  std::string runtime_start;
};

Maps ReadMaps(pid_t process) {
  Maps maps;
  std::set<std::string> files;
  const auto text = base::ReadFile(Proc(process) / "maps");
  if (!text.ok()) return maps;
  std::istringstream lines(text.value());
  for (std::string line; std::getline(lines, line);) {
    const size_t path = line.find('/');
    if (path == std::string::npos) continue;
    files.insert(line.substr(path));
    if (maps.runtime_start.empty() && FileName(line).starts_with("libhsa-runtime64.so"))
      maps.runtime_start = line.substr(0, line.find('-'));
  }
  maps.files = {files.begin(), files.end()};
  return maps;
}

// The first of the files whose name starts like this; empty: none.
std::string Find(const std::vector<std::string>& files, std::string_view start) {
  for (const std::string& file : files)
    if (FileName(file).starts_with(start)) return file;
  return {};
}

// As ROCr reads it.
bool IsOn(const std::optional<std::string>& value) {
  if (!value) return false;
  if (!value->empty() && value->find_first_not_of("0123456789") == std::string::npos)
    return strtol(value->c_str(), nullptr, 10) != 0;
  std::string lower = *value;
  std::transform(lower.begin(), lower.end(), lower.begin(), ::tolower);
  return lower != "off" && lower != "false" && lower != "no" && lower != "n" && lower != "f";
}

}  // namespace

GpuUse::GpuUse(fs::path agent, fs::path log_directory)
    : agent_(std::move(agent)),
      log_directory_(std::move(log_directory)),
      start_(steady_clock::now()) {}

bool GpuUse::LeftLog(pid_t process) const {
  const std::string start = fmt::format("process-{}-", process);
  std::error_code error;
  for (fs::directory_iterator it(log_directory_, error), end; !error && it != end;
       it.increment(error))
    if (it->path().filename().string().starts_with(start)) return true;
  return false;
}

bool GpuUse::IsForked(pid_t process, const std::string& runtime_start) {
  if (runtime_start.empty()) return false;
  return first_with_.emplace(runtime_start, process).first->second != process;
}

void GpuUse::LookAt(pid_t process) {
  if (!HasDriverOpen(process)) return;
  User user;
  Maps maps = ReadMaps(process);
  // What a process inherits from the one that forked it is no use of a GPU.
  if (IsForked(process, maps.runtime_start)) return;
  user.command = ProcessCommand(process);
  user.libraries = std::move(maps.files);
  user.tools = ProcessVariable(process, "HSA_TOOLS_LIB");
  user.v1_tools = ProcessVariable(process, "HSA_TOOLS_ROCPROFILER_V1_TOOLS");
  user.registering = ProcessVariable(process, "ROCPROFILER_REGISTER_LIBRARY");
  std::error_code error;
  user.environment_known = fs::exists(Proc(process) / "environ", error) &&
                           base::ReadFile(Proc(process) / "environ").ok();
  user.sees_agent = fs::exists((Proc(process) / "root").string() + agent_.string(), error) || error;
  // It ended while we looked: what was seen before is more.
  if (user.libraries.empty() && users_.count(process) != 0) return;
  users_[process] = std::move(user);
}

std::vector<pid_t> GpuUse::LeftBehind() const {
  std::vector<pid_t> processes;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const pid_t process = atoi(it->path().filename().c_str());
    if (process > 0 && process != getpid() &&
        ProcessVariable(process, contract::variables::kLogDir) == log_directory_.string())
      processes.push_back(process);
  }
  return processes;
}

milliseconds GpuUse::Look(pid_t root) {
  const auto begin = steady_clock::now();
  for (const pid_t process : ProcessTree(root)) {
    if (!LeftLog(process)) {
      LookAt(process);
    } else if (recorded_.insert(process).second) {
      IsForked(process, ReadMaps(process).runtime_start);
    }
  }
  // Close together at first, and never more than a fiftieth of one processor.
  const auto now = steady_clock::now();
  const auto age = now - start_;
  const milliseconds pause = age < std::chrono::seconds(2)    ? milliseconds(10)
                             : age < std::chrono::seconds(20) ? milliseconds(50)
                                                              : milliseconds(250);
  return std::max(pause, std::chrono::duration_cast<milliseconds>(50 * (now - begin)));
}

std::string GpuUse::Reason(const User& user) const {
  const std::string runtime = Find(user.libraries, "libhsa-runtime64.so");
  std::string other = Find(user.libraries, "librocprofiler-sdk.so");
  for (const std::string& file : user.libraries)
    if (other.empty() && FileName(file).find(".so") != std::string::npos &&
        !FileName(file).starts_with(FileName(agent_)) &&
        !FileName(file).starts_with("librocprofiler-register") &&
        Exports(file, "rocprofiler_set_api_table"))
      other = file;
  if (!Find(user.libraries, FileName(agent_)).empty())
    return "the agent was loaded, but left no log: what it says about that on stderr is the reason";
  if (user.environment_known &&
      (!user.tools || user.tools->find(FileName(agent_)) == std::string::npos))
    return "HSA_TOOLS_LIB did not reach it. sudo, ssh, containers, batch systems and env -i do not "
           "pass the environment on: put rochound run inside of them";
  if (!user.sees_agent)
    return fmt::format(
        "its file system does not have '{}': install rochound in the container, and put rochound "
        "run inside of it",
        agent_.string());
  if (user.environment_known && !IsOn(user.v1_tools))
    return fmt::format(
        "HSA_TOOLS_ROCPROFILER_V1_TOOLS is {} there, so that ROCr reads no HSA_TOOLS_LIB when "
        "another profiler has registered{}: leave the variable as rochound run sets it",
        user.v1_tools ? "'" + *user.v1_tools + "'" : "not set",
        other.empty() ? "" : " ('" + other + "')");
  if (runtime.empty())
    return "it has no libhsa-runtime64.so: it uses the driver by itself, or has ROCr linked in, "
           "which loads no tools";
  return fmt::format(
      "ROCr ('{}') did not load the agent, though its environment names it. {}; rochound doctor "
      "tells how the agent gets into a program here",
      runtime,
      other.empty() ? "The program may have changed HSA_TOOLS_LIB"
                    : "Another profiler, '" + other + "', is in the process");
}

std::vector<UnrecordedProcess> GpuUse::Unrecorded() const {
  std::vector<UnrecordedProcess> all;
  for (const auto& [pid, user] : users_)
    if (!LeftLog(pid)) all.push_back({pid, user.command, Reason(user)});
  return all;
}

std::string Describe(const UnrecordedProcess& process) {
  return fmt::format("process {} ({}) used a GPU and was not recorded: {}.", process.pid,
                     process.command.substr(0, 80), process.reason);
}

}  // namespace rochound::launch
