// SPDX-License-Identifier: MIT
#include "cli/profile_rocprof.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "base/log.h"
#include "cli/child_process.h"
#include "cli/run_environment.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

Result<fs::path> FindRocprof() {
  std::vector<fs::path> places = {FindProgram("rocprofv3")};
  const char* rocm = getenv("ROCM_PATH");
  places.push_back(fs::path(rocm != nullptr && *rocm != '\0' ? rocm : "/opt/rocm") /
                   "bin/rocprofv3");
  for (const fs::path& place : places) {
    std::error_code error;
    if (place.is_absolute() && fs::is_regular_file(place, error)) return place;
  }
  return Error{
      "rocprofv3 is neither on the PATH nor in ROCm's folder (ROCM_PATH); it is part of "
      "rocprofiler-sdk. Without it a software GPU can count: leave --rocprofv3 out"};
}

}  // namespace

fs::path FindProgram(const std::string& name) {
  const char* path = getenv("PATH");
  if (name.find('/') != std::string::npos || path == nullptr) return name;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    const fs::path file = fs::path(folder.empty() ? "." : folder) / name;
    if (fs::is_regular_file(file, error)) return fs::absolute(file);
  }
  return name;
}

Result<RocprofRun> RunRocprof(const std::vector<std::vector<std::string>>& passes,
                              const std::string& kernel, const fs::path& folder,
                              const std::vector<std::string>& program) {
  ROCHOUND_TRY(const fs::path rocprof, FindRocprof());
  RocprofRun run;
  for (size_t i = 0; i < passes.size(); ++i) {
    const fs::path output = folder / fmt::format("pass_{}", i + 1);
    std::error_code error;
    // Files of an earlier run would be read as well.
    if (fs::exists(output, error)) {
      return Error{fmt::format("{} is there already: give another folder (-o), or remove it",
                               output.string())};
    }
    fs::create_directories(output, error);
    if (error) return Error{fmt::format("cannot create {}: {}", output.string(), error.message())};
    // ROCm 6 and 7 both know these names; ROCm 7 writes a database unless it is told.
    std::vector<std::string> command = {rocprof.string(), "--pmc"};
    command.insert(command.end(), passes[i].begin(), passes[i].end());
    command.insert(command.end(), {"--output-format", "csv", "json", "-d", output.string()});
    if (!kernel.empty()) command.insert(command.end(), {"--kernel-include-regex", kernel});
    command.emplace_back("--");
    command.insert(command.end(), program.begin(), program.end());
    base::LogInfo(
        fmt::format("pass {} of {}: {} counters", i + 1, passes.size(), passes[i].size()));
    int error_number = 0;
    auto child = ChildProcess::Start(command, Lines(CurrentEnvironment()), &error_number);
    if (!child.ok()) return child.error();
    run.status = child.value().Wait();
    if (run.status != 0) return run;
    run.folders.push_back(output);
  }
  return run;
}

}  // namespace rochound::cli
