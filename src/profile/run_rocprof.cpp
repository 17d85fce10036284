// SPDX-License-Identifier: MIT
#include "profile/run_rocprof.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "base/files.h"
#include "base/installation.h"
#include "base/log.h"
#include "launch/child_process.h"
#include "launch/limited_run.h"
#include "launch/run_environment.h"

namespace rochound::profile {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

Result<fs::path> FindRocprof() {
  auto place = base::FindRocmProgram("rocprofv3");
  if (place.ok()) return place;
  return Error{place.error().message +
               "; it is part of rocprofiler-sdk. Without it a software GPU can count: leave "
               "--rocprofv3 out"};
}

// How this rocprofv3 is told which counters and kernels are wanted.
enum class RocprofOptions {
  kFile,  // ROCm 6.2: a file with a line of counters (-i), and all kernels
  kPmc,   // since ROCm 6.3: --pmc and --kernel-include-regex
};

Result<RocprofOptions> OptionsOf(const fs::path& rocprof) {
  ROCHOUND_TRY(
      const launch::LimitedRun help,
      launch::RunLimited({rocprof.string(), "--help"}, launch::Lines(launch::CurrentEnvironment()),
                         std::chrono::seconds(60)));
  if (help.out.find("--pmc") != std::string::npos) return RocprofOptions::kPmc;
  if (help.out.find("--input") != std::string::npos) return RocprofOptions::kFile;
  return Error{fmt::format("{} --help names neither --pmc nor --input: it {}", rocprof.string(),
                           help.End())};
}

// The command of one pass, up to the program.
Result<std::vector<std::string>> PassCommand(const fs::path& rocprof, RocprofOptions options,
                                             const std::vector<std::string>& counters,
                                             const std::string& kernel, const fs::path& output) {
  std::vector<std::string> command = {rocprof.string()};
  if (options == RocprofOptions::kPmc) {
    command.emplace_back("--pmc");
    command.insert(command.end(), counters.begin(), counters.end());
  } else {
    const fs::path file = output / "counters.txt";
    ROCHOUND_CHECK(
        base::WriteFileAtomically(file, fmt::format("pmc: {}\n", fmt::join(counters, " "))));
    command.insert(command.end(), {"-i", file.string()});
  }
  // ROCm 7 writes a database unless it is told.
  command.insert(command.end(), {"--output-format", "csv", "json", "-d", output.string()});
  if (!kernel.empty() && options == RocprofOptions::kPmc)
    command.insert(command.end(), {"--kernel-include-regex", kernel});
  command.emplace_back("--");
  return command;
}

}  // namespace

Result<RocprofRun> RunRocprof(const std::vector<std::vector<std::string>>& passes,
                              const std::string& kernel, const fs::path& folder,
                              const std::vector<std::string>& program) {
  ROCHOUND_TRY(const fs::path rocprof, FindRocprof());
  ROCHOUND_TRY(const RocprofOptions options, OptionsOf(rocprof));
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
    ROCHOUND_TRY(std::vector<std::string> command,
                 PassCommand(rocprof, options, passes[i], kernel, output));
    command.insert(command.end(), program.begin(), program.end());
    base::LogInfo(
        fmt::format("pass {} of {}: {} counters", i + 1, passes.size(), passes[i].size()));
    int error_number = 0;
    auto child = launch::ChildProcess::Start(command, launch::Lines(launch::CurrentEnvironment()),
                                             &error_number);
    if (!child.ok()) return child.error();
    run.status = child.value().Wait();
    if (run.status != 0) return run;
    run.folders.push_back(output);
  }
  return run;
}

}  // namespace rochound::profile
