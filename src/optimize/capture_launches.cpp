// SPDX-License-Identifier: MIT
#include "optimize/capture_launches.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/log.h"
#include "base/pattern.h"
#include "base/printable.h"
#include "codeobj/demangle.h"
#include "launch/run_environment.h"
#include "optimize/judge.h"

namespace rochound::optimize {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

constexpr size_t kMostLaunches = 5;  // of which two are held out
constexpr std::chrono::minutes kProgramLimit(30);

std::string LastLine(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return base::Printable(text.substr(text.rfind('\n') + 1));
}

// The program under one of our commands.
std::vector<std::string> UnderRochound(const LaunchTask& task, const fs::path& self,
                                       const std::vector<std::string>& words) {
  std::vector<std::string> command = {self.string()};
  command.insert(command.end(), words.begin(), words.end());
  if (!task.softgpu.empty()) command.insert(command.end(), {"--softgpu", task.softgpu});
  command.emplace_back("--");
  command.insert(command.end(), task.program.begin(), task.program.end());
  return command;
}

// The pattern of the kernel that is worth most.
Result<std::string> DominantKernel(const LaunchTask& task, const fs::path& self,
                                   const fs::path& trace) {
  ROCHOUND_TRY(
      const launch::LimitedRun profile,
      RunToEnd({self.string(), "profile", "--trace", trace.string(), "-o", task.folder.string()}));
  ROCHOUND_TRY(const std::string text, base::ReadFile(task.folder / "dag.json", base::kMostText));
  const auto dag = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!profile.ok() || !dag.is_object() || !dag["critical_path"]["dominant_symbol"].is_string())
    return Error{"no kernel is on the program's critical path; name one with --kernel"};
  std::string name = dag["critical_path"]["dominant_symbol"];
  if (name.ends_with(".kd")) name.resize(name.size() - 3);
  base::LogInfo(
      fmt::format("the kernel with most of the critical path is {}", base::Printable(name)));
  return ExactPattern(name);
}

Result<LaunchChoice> Choose(const LaunchTask& task, const fs::path& self) {
  const fs::path file = task.folder / "launches.json";
  std::error_code error;
  // A run that goes on has chosen already; times may say something else today.
  if (fs::exists(file, error)) {
    ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
    auto choice = ParseLaunchChoice(text);
    if (!choice.ok()) return choice.error().In(file.string());
    if (task.kernel.empty()) return choice;
    const std::string& kernel = choice.value().kernel;
    ROCHOUND_TRY(const base::Pattern pattern, base::Pattern::Compile(task.kernel));
    if (pattern.FoundIn(kernel) || pattern.FoundIn(codeobj::Demangle(kernel))) return choice;
    return Error{fmt::format("'{}' is of another kernel, {}; choose another folder with -o",
                             file.string(), codeobj::Demangle(kernel))};
  }
  const fs::path trace = task.folder / "profile.rpd";
  fs::remove(trace, error);
  ROCHOUND_TRY(
      const launch::LimitedRun run,
      RunToEnd(UnderRochound(task, self, {"run", "--quiet", "--force", "-o", trace.string()})));
  if (!fs::exists(trace, error))
    return Error{
        fmt::format("the program was not recorded, it {}: {}", run.End(), LastLine(run.err))};
  std::string pattern = task.kernel;
  if (pattern.empty()) {
    ROCHOUND_TRY(pattern, DominantKernel(task, self, trace));
  }
  ROCHOUND_TRY(const KernelLaunches launches, ReadLaunches(trace, pattern));
  LaunchChoice choice = ChooseLaunches(launches, kMostLaunches);
  ROCHOUND_CHECK(base::WriteFileAtomically(file, LaunchChoiceJson(choice)));
  return choice;
}

}  // namespace

Result<launch::LimitedRun> RunToEnd(const std::vector<std::string>& command) {
  return launch::RunLimited(command, launch::Lines(launch::CurrentEnvironment()), kProgramLimit);
}

Result<CapturedLaunches> CaptureLaunches(const LaunchTask& task) {
  ROCHOUND_TRY(const fs::path self, base::ExecutablePath());
  ROCHOUND_TRY(const LaunchChoice choice, Choose(task, self));
  CapturedLaunches captured;
  captured.kernel = choice.kernel;
  std::string problem;
  for (size_t i = 0; i < choice.launches.size(); ++i) {
    const ChosenLaunch& launch = choice.launches[i];
    const fs::path bundle = task.folder / "bundles" / fmt::format("{}.bundle", i + 1);
    const std::string what = DescribeLaunch(launch);
    std::error_code error;
    if (!fs::exists(bundle, error)) {
      ROCHOUND_TRY(
          const launch::LimitedRun run,
          RunToEnd(UnderRochound(task, self,
                                 {"capture", "--quiet", "--kernel", ExactPattern(choice.kernel),
                                  "--shape", ShapeOption(launch.shape), "--nth",
                                  std::to_string(launch.nth), "-o", bundle.string()})));
      const bool there = fs::exists(bundle, error);
      std::string event =
          fmt::format("captured{}: {}", launch.held_out ? " and held out" : "", what);
      if (!there) {
        problem = LastLine(run.err);
        event =
            fmt::format("not captured, so candidates are not judged by it: {}: {}", what, problem);
        base::LogWarning(event);
      }
      ROCHOUND_CHECK(task.journal->AddEvent(event));
      if (!there) continue;
    }
    // Without a launch to search with, the next one is no longer held out.
    const bool held_out = launch.held_out && !captured.seen.empty();
    (held_out ? captured.held_out : captured.seen).push_back(bundle);
    (held_out ? captured.held_out_key : captured.seen_key) +=
        fmt::format("{} {}\n", ShapeOption(launch.shape), launch.nth);
    if (captured.first_key.empty()) captured.first_key = captured.seen_key;
  }
  if (captured.seen.empty()) return Error{"no launch was captured: " + problem};
  return captured;
}

}  // namespace rochound::optimize
