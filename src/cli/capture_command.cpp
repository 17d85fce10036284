// SPDX-License-Identifier: MIT
#include "cli/capture_command.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <system_error>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/pattern.h"
#include "base/progress_bar.h"
#include "capture/bundle.h"
#include "capture/pack.h"
#include "cli/trace_output.h"
#include "cli/usage_formatter.h"
#include "contract/variables.h"
#include "launch/child_process.h"
#include "launch/gpu_use.h"
#include "launch/recorded_program.h"
#include "launch/run_environment.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

constexpr const char* kCaptureExamples = R"(
Examples:
  rochound capture --kernel vector_add -o add.bundle -- ./vector_add
  rochound capture --kernel 'gemm.*64' --nth 500 -- python3 train.py
  rochound capture --kernel . --shape grid=*,workgroup=256 --memory all -- ./app
  rochound capture --dispatch 12 --softgpu mi300x -- ./vector_add

The first launch that matches is captured, or the N-th. Everything that is in
flight on its GPU completes first; its memory is kept; it runs alone; what it changed
is kept; the program goes on. 'reachable' memory is what the kernel's arguments and
module variables point to, followed conservatively: whatever looks like a pointer
into an allocation is one. What was left out is listed in the bundle.

A bundle is a folder that holds your data; only you can read it. Next:
  rochound show add.bundle             what was captured
  rochound replay run add.bundle       run it again, and compare the result

The program's output, exit code and signals are passed through. Exit codes of
rochound itself: 2 wrong usage, 125 nothing was captured although the program ended
with 0, 126 program cannot be started, 127 program not found.
)";

struct State {
  std::string state;  // done, failed, waiting; empty: the agent said nothing
  std::string reason;
};

State ReadState(const fs::path& file) {
  State state;
  const auto text = base::ReadFile(file);
  if (!text.ok()) return state;
  for (size_t at = 0; at < text.value().size();) {
    const size_t end = text.value().find('\n', at);
    const std::string line = text.value().substr(at, end - at);
    if (line.starts_with("state=")) state.state = line.substr(6);
    if (line.starts_with("reason=")) state.reason = line.substr(7);
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return state;
}

// What the program's processes say: done counts most, then why it failed.
State Outcome(const fs::path& log) {
  State best;
  std::error_code error;
  for (fs::recursive_directory_iterator it(log, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename() != "capture") continue;
    const State state = ReadState(it->path());
    if (best.state.empty() || state.state == "done" ||
        (state.state == "failed" && best.state != "done"))
      best = state;
  }
  return best;
}

}  // namespace

const char* CaptureCommand::examples() const { return kCaptureExamples; }

CaptureCommand::CaptureCommand(CLI::App& app)
    : Command(app.add_subcommand("capture", "Keep one kernel launch, to run it again")) {
  UsageFormatter::Set(*subcommand_, "rochound capture [OPTIONS] -- PROGRAM [ARGUMENTS]");
  const auto option = [&](const char* name, auto& value, const char* type,
                          const char* description) {
    return subcommand_->add_option(name, value, description)
        ->type_name(type)
        ->allow_extra_args(false);
  };
  option("--kernel", kernel_, "REGEX", "The kernel, by its symbol or its C++ name");
  option("--nth", nth_, "N", "Which of the launches that match (default: the first)")
      ->check(CLI::PositiveNumber);
  option("--dispatch", dispatch_, "N", "Which of all the process's launches, from 1")
      ->check(CLI::PositiveNumber);
  option("--shape", shape_, "SHAPE", "Only launches of that shape: grid=1024x1x1,workgroup=256");
  option("--memory", memory_, "reachable|all", "Which memory to keep (default: reachable)")
      ->check(CLI::IsMember({"reachable", "all"}));
  option("-o,--output", output_, "FOLDER", "The bundle (default: kernel.bundle)");
  option("--softgpu", softgpu_, "GPU[,GPU...]", "Run on software GPUs (see rochound softgpu)");
  subcommand_->add_flag("--raw", raw_, "Leave the bundle uncompressed, as it was written");
  subcommand_->add_flag("-q,--quiet", quiet_, "No summary");
  subcommand_->add_option("program", stray_)->group("");  // only to say what is wrong with it
}

std::string CaptureCommand::Problem(const std::vector<std::string>& program) const {
  if (!stray_.empty())
    return fmt::format("put -- before the program: rochound capture [OPTIONS] -- {}", stray_[0]);
  if (program.empty())
    return "no program given; example: rochound capture --kernel add -- ./vector_add";
  if (kernel_.empty() && dispatch_ == 0)
    return "which launch? --kernel REGEX, or --dispatch N; --kernel . is the first of all";
  if (!kernel_.empty()) {
    const auto pattern = base::Pattern::Compile(kernel_);
    if (!pattern.ok())
      return fmt::format("--kernel: '{}' is no regular expression: {}", kernel_,
                         pattern.error().message);
  }
  std::error_code error;
  const fs::path output = fs::absolute(output_, error);
  if (fs::exists(output, error))
    return fmt::format("'{}' is there already; remove it, or choose another place with -o",
                       output.string());
  return OutputProblem(output);
}

Result<void> CaptureCommand::Pack(const fs::path& raw) const {
  const fs::path output = output_;
  if (raw_) {
    std::error_code error;
    fs::rename(raw, output, error);
    if (error) return base::ErrnoError("cannot move the bundle to", output, error.value());
  } else {
    base::ProgressBar bar("packing");
    const auto packed = capture::Pack(raw, output, {}, [&](uint64_t done, uint64_t all) {
      bar.Show(static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(all, 1)));
    });
    if (!packed.ok()) return packed.error();
  }
  ROCHOUND_TRY(const capture::Bundle bundle, capture::Bundle::Open(output));
  if (quiet_) return {};
  const capture::Manifest& manifest = bundle.manifest();
  uint64_t taken = 0;
  size_t regions = 0;
  for (const capture::Region& region : manifest.regions) {
    if (!region.taken) continue;
    taken += region.size;
    ++regions;
  }
  base::LogInfo(fmt::format(
      "captured launch {} of {} into '{}': {} regions of {} ({:.1f} MiB), {:.1f} MiB stored",
      manifest.launch.match, manifest.kernel, output.string(), regions, manifest.regions.size(),
      static_cast<double>(taken) / (1 << 20),
      static_cast<double>(bundle.stored_bytes()) / (1 << 20)));
  for (const std::string& note : manifest.notes) base::LogWarning(note);
  return {};
}

int CaptureCommand::Run(const std::vector<std::string>& program) {
  if (const std::string problem = Problem(program); !problem.empty()) return Usage(problem);
  const auto command = launch::OnSoftwareGpu(softgpu_, program);
  if (!command.ok()) return Usage(command.error().message);
  const fs::path output = output_;
  launch::Environment environment = launch::CurrentEnvironment();
  launch::Recording recording;
  recording.hip = false;
  const auto prepared = launch::PrepareLog("", output, &recording);
  if (!prepared.ok()) {
    base::LogError(prepared.error().message);
    return base::kExitSetup;
  }
  for (const std::string& remark : launch::SetRecording(recording, &environment))
    base::LogWarning(remark);
  const fs::path raw = recording.log_directory / "bundle";
  environment[contract::variables::kCaptureDir] = raw.string();
  environment[contract::variables::kCaptureKernel] = kernel_;
  environment[contract::variables::kCaptureNth] = std::to_string(nth_);
  environment[contract::variables::kCaptureDispatch] =
      dispatch_ != 0 ? std::to_string(dispatch_) : "";
  environment[contract::variables::kCaptureShape] = shape_;
  environment[contract::variables::kCaptureMemory] = memory_;
  environment[contract::variables::kStart] = "on";

  const auto remove_log = [&] {
    std::error_code ignored;
    fs::remove_all(recording.log_directory, ignored);
  };
  int error_number = 0;
  auto child =
      launch::ChildProcess::Start(command.value(), launch::Lines(environment), &error_number);
  if (!child.ok()) {
    remove_log();
    return launch::CannotStart(child.error(), error_number);
  }
  launch::ChildProcess::OutliveReaders();
  launch::GpuUse gpu_use(recording.agent, recording.log_directory);
  const int status = child.value().Wait([&] { return gpu_use.Look(child.value().pid()); });

  std::error_code error;
  Result<void> packed;
  if (fs::is_directory(raw, error)) {
    packed = Pack(raw);
  } else {
    const State outcome = Outcome(recording.log_directory);
    packed = Error(outcome.state == "failed"    ? "the launch was not captured: " + outcome.reason
                   : outcome.state == "waiting" ? outcome.reason
                   : IsLogFolder(recording.log_directory)
                       ? "the program ended before a launch was captured"
                       : launch::WhyNothing(program, status, gpu_use.Unrecorded()));
  }
  remove_log();
  if (packed.ok()) launch::ChildProcess::EndLike(status);
  base::LogError(packed.error().message);
  launch::ChildProcess::EndLike(status == 0 ? base::kExitSetup << 8 : status);
}

}  // namespace rochound::cli
