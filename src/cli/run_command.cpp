// SPDX-License-Identifier: MIT
#include "cli/run_command.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/clock.h"
#include "base/count.h"
#include "base/exit_codes.h"
#include "base/files.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/run_findings.h"
#include "cli/usage_formatter.h"
#include "contract/variables.h"
#include "doctor/fault/fault_report.h"
#include "launch/child_process.h"
#include "launch/gpu_use.h"
#include "launch/output_name.h"
#include "launch/recorded_program.h"
#include "store/convert/filter.h"
#include "swap/swap_verify.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr const char* kDefaultOutput = "trace.rpd";

void WriteRunFile(const fs::path& folder, const std::vector<std::string>& program,
                  const launch::Recording& recording) {
  const nlohmann::ordered_json json = {
      {"command", program},
      {"directory", fs::current_path().string()},
      {"start_realtime_ns", base::ClockNs(CLOCK_REALTIME)},
      {"start_monotonic_ns", base::ClockNs(CLOCK_MONOTONIC)},
      {"launcher", getpid()},
      {"hip", recording.hip},
      {"hsa", recording.hsa},
      {"stacks", recording.stacks},
      {"last", recording.last},
      {"delay", recording.delay},
      {"duration", recording.duration},
      {"range", recording.range},
      {"kernel", recording.kernels},
      {"api", recording.calls},
  };
  const auto written = base::WriteFile(
      folder / "run.json",
      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  if (!written.ok()) base::LogWarning(written.error().message);
}

// How it ended, what CPU time it and all that it waited for used, and what is missing in the log.
void WriteEnd(const fs::path& folder, int status,
              const std::vector<launch::UnrecordedProcess>& unrecorded) {
  const auto text = base::ReadFile(folder / "run.json", base::kMostText);
  if (!text.ok()) return;
  using Json = nlohmann::ordered_json;
  Json json = Json::parse(text.value(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return;
  json["status"] = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                       : fmt::format("exit {}", WEXITSTATUS(status));
  rusage used{};
  if (getrusage(RUSAGE_CHILDREN, &used) == 0) {
    const auto ns = [](const timeval& time) {
      return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1000;
    };
    json["cpu_ns"] = ns(used.ru_utime) + ns(used.ru_stime);
  }
  for (const launch::UnrecordedProcess& process : unrecorded)
    json["unrecorded"].push_back({{"pid", process.pid}, {"note", launch::Describe(process)}});
  const auto written = base::WriteFile(
      folder / "run.json", json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  if (!written.ok()) base::LogWarning(written.error().message);
}

}  // namespace

constexpr const char* kRunExamples = R"(
Examples:
  rochound run -- ./vector_add
  rochound run -o train.rpd --hsa --stacks -- python3 train.py
  srun rochound run -o rank%r.rpd -- ./app  a trace of each rank
  rochound run --last 30s -- ./server       what happened just before the end
  rochound run --jsonl - -- ./vector_add    one JSON object per call
  rochound run --override cu=72 -- ./app    HIP answers 72 compute units, not 36
  rochound run --kernel-cache build -- ./app  with the kernels in build/*.hsaco
  rochound run --softgpu mi300x -- ./vector_add
  sqlite3 trace.rpd 'select * from top'

The trace is an SQLite file in the schema of RPD. Everything after -- is the
program and its arguments; its output, exit code and signals are passed through,
and the processes it starts are recorded, too. What rochound itself reports
goes to stderr. When program or launcher were killed, the log stays beside the
output: rochound log recover FOLDER -o trace.rpd. The environment variables
RPDT_FILENAME, RPDT_AUTOSTART, RPDT_STACKFRAMES, LOGDUR_LOG_LOCATION and
LOGDUR_KERNEL_CACHE mean what they mean for RPD and logduration.

Exit codes of rochound itself: 2 wrong usage, 123 the program ended with 0 and
used a GPU, but nothing was recorded, 125 no trace could be made although the
program ended with 0, 126 program cannot be started, 127 program not found.
)";

const char* RunCommand::examples() const { return kRunExamples; }

RunCommand::RunCommand(CLI::App& app)
    : Command(app.add_subcommand("run", "Record what a program does on the GPU")) {
  UsageFormatter::Set(*subcommand_, "rochound run [OPTIONS] -- PROGRAM [ARGUMENTS]");
  const auto text = [&](const char* name, std::string& value, const char* type,
                        const char* description) {
    return subcommand_->add_option(name, value, description)
        ->type_name(type)
        ->allow_extra_args(false);
  };
  text("-o,--output", output_, "FILE",
       "The trace (default: trace.rpd); in names of outputs %r is the rank that srun, mpirun or "
       "torchrun gave, %h the host, %p the process");
  subcommand_->add_flag("--force", force_, "Overwrite a trace that is there; otherwise it is kept");
  text("--log-dir", log_directory_, "FOLDER", "Keep the flight log, and keep it here");
  subcommand_->add_flag_callback(
      "--no-hip", [this] { recording_.hip = false; }, "Do not record HIP calls");
  subcommand_->add_flag("--hsa", recording_.hsa, "Record HSA calls, too");
  subcommand_->add_flag("--stacks", recording_.stacks, "Record who called, for every call");
  text("--last", recording_.last, "30s|64MiB", "Keep only the last part of the run");
  text("--jsonl", jsonl_, "FILE|-", "Write one JSON object per call");
  subcommand_->add_flag("--durations", durations_,
                        "Print kernel,dispatch,startNs,endNs for every kernel");
  subcommand_->add_flag("--start-off", recording_.start_off,
                        "Do not record until told: rochound ctl start, or the program itself");
  text("--delay", recording_.delay, "5s", "Start recording so long after the program");
  text("--duration", recording_.duration, "10s", "Stop recording after this time");
  text("--range", recording_.range, "NAME", "Record only inside roctx ranges of this name");
  text("--kernel", recording_.kernels, "REGEX", "Keep only kernels whose names match");
  text("--api", recording_.calls, "REGEX", "Keep only calls of HIP and HSA whose names match");
  subcommand_->add_flag("--fault-bundle", recording_.fault_bundle,
                        "If a GPU fails, capture the launch, as far as its memory can be read");
  text("--override", recording_.overrides, "cu=72,...",
       "Correct what HIP says about GPUs: cu, clock (MHz), memory (GiB), name; and HSA, but for "
       "memory");
  text("--kernel-cache", kernel_cache_, "DIR|triton",
       "Swap kernels of the program for those in this folder; triton: in Triton's own");
  text("--swap", swap_, "REGEX", "Swap only kernels whose names match");
  subcommand_->add_flag("--swap-ab", recording_.swap_ab,
                        "Let originals and their candidates alternate, and compare them");
  subcommand_->add_flag("--swap-verify{3}", recording_.swap_verify,
                        "Compare results: of each swapped kernel the launches 1, 2, 4, ... run the "
                        "original, and are run again with the candidate afterwards; so many (3)");
  subcommand_->add_flag("--kernel-cache-shared", recording_.swap_shared,
                        "Use kernels that others may write to as well");
  text("--softgpu", softgpu_, "GPU[,GPU...]", "Run on software GPUs (see rochound softgpu)");
  subcommand_->add_flag("--log-only", log_only_, "Leave the flight log as it is; make no trace");
  subcommand_->add_flag("--findings", findings_,
                        "Begin the summary with findings, as on a terminal");
  subcommand_->add_flag("-q,--quiet", quiet_, "No summary");
  subcommand_->add_option("program", stray_)->group("");  // only to say what is wrong with it
}

std::string RunCommand::Problem(const std::vector<std::string>& program) const {
  if (!stray_.empty())
    return fmt::format("put -- before the program: rochound run [OPTIONS] -- {}", stray_[0]);
  if (program.empty()) return "no program given; example: rochound run -- ./vector_add";
  if (log_only_ && log_directory_.empty()) return "--log-only goes with --log-dir";
  if (log_only_ && (!output_.empty() || !jsonl_.empty() || durations_))
    return "--log-only makes no output";
  if (!recording_.last.empty() && !base::ParseTime(recording_.last) &&
      !base::ParseSize(recording_.last))
    return fmt::format("--last: '{}' is neither a time (30s) nor a size (64MiB)", recording_.last);
  if (!launch::IsOverrides(recording_.overrides))
    return fmt::format("--override: '{}' is not made of cu=N, clock=MHZ, memory=GIB, name=TEXT",
                       recording_.overrides);
  if (!recording_.overrides.empty() && !recording_.hip)
    return "--override corrects HIP's calls, which --no-hip leaves alone; leave one of them out";
  for (const auto& [name, value] :
       {std::pair("--delay", &recording_.delay), std::pair("--duration", &recording_.duration)}) {
    if (!value->empty() && !base::ParseTime(*value))
      return fmt::format("{}: '{}' is not a time, such as 5s, 500ms or 2m", name, *value);
  }
  if (const auto filter = store::Filter::Create(recording_.kernels, recording_.calls); !filter.ok())
    return filter.error().message;
  if (const std::string problem = SwapProblem(); !problem.empty()) return problem;
  if (!log_only_)
    if (const std::string problem = OutputProblem(Output().rpd); !problem.empty()) return problem;
  if (!log_directory_.empty() && IsLogFolder(log_directory_)) {
    return fmt::format(
        "'{}' holds the log of another run; choose another folder or remove it. Ranks of one job: "
        "--log-dir {}/%r",
        log_directory_, log_directory_);
  }
  return {};
}

swap::KernelCacheOptions RunCommand::SwapOptions() const {
  const char* const variable = getenv("LOGDUR_KERNEL_CACHE");
  const std::string asked =
      kernel_cache_.empty() && variable != nullptr ? std::string(variable) : kernel_cache_;
  return {swap::KernelCacheDirectory(asked), swap_, recording_.swap_shared};
}

std::string RunCommand::SwapProblem() const {
  const swap::KernelCacheOptions options = SwapOptions();
  if (options.directory.empty()) {
    const bool asked = !swap_.empty() || recording_.swap_ab || recording_.swap_shared ||
                       recording_.swap_verify != 0;
    return asked ? "which kernels are to be swapped in? --kernel-cache names their folder" : "";
  }
  if (const auto filter = store::Filter::Create(swap_, ""); !filter.ok())
    return "--swap: " + filter.error().message;
  std::error_code error;
  if (options.shared && fs::is_directory(options.directory, error)) return {};
  const std::string problem = swap::WhyNotTrusted(options.directory);
  return problem.empty() ? "" : "--kernel-cache: " + problem;
}

// An earlier trace stays. Where the user named the file, that is where the new one goes, and the
// earlier one gets a number; otherwise the new one does.
void RunCommand::KeepEarlierTrace(fs::path* rpd) const {
  std::error_code error;
  if (!fs::is_regular_file(*rpd, error)) return;
  fs::path free;
  for (int number = 1; free.empty() || fs::exists(free, error); ++number) {
    free = *rpd;
    free.replace_extension();
    free += fmt::format(".{}{}", number, rpd->extension().string());
  }
  if (output_.empty() && getenv("RPDT_FILENAME") == nullptr) {
    base::LogInfo(
        fmt::format("'{}' is there already; the trace is written to '{}'. --force "
                    "overwrites.",
                    rpd->string(), free.string()));
    *rpd = free;
    return;
  }
  fs::rename(*rpd, free, error);
  if (error) {
    base::LogWarning(fmt::format("'{}' is overwritten: it cannot be kept as '{}': {}",
                                 rpd->string(), free.string(), error.message()));
    return;
  }
  doctor::MoveEvidence(*rpd, free);
  base::LogInfo(fmt::format("'{}' was there already; it is kept as '{}'. --force overwrites.",
                            rpd->string(), free.string()));
}

TraceOutput RunCommand::Output() const {
  TraceOutput output;
  if (log_only_) return output;
  const char* const rpd_filename = getenv("RPDT_FILENAME");
  output.rpd = !output_.empty()                                   ? output_
               : rpd_filename != nullptr && *rpd_filename != '\0' ? rpd_filename
                                                                  : kDefaultOutput;
  output.jsonl = jsonl_;
  output.durations = DurationsPlace(durations_, getenv("LOGDUR_LOG_LOCATION"));
  output.quiet = quiet_;
  output.software_gpu = !softgpu_.empty() || getenv(contract::variables::kSoftgpuRoot) != nullptr;
  return output;
}

int RunCommand::Run(const std::vector<std::string>& program) {
  for (std::string* const name : {&output_, &log_directory_, &jsonl_}) {
    auto filled = launch::FillOutputName(*name);
    if (!filled.ok()) return Usage(filled.error().message);
    *name = std::move(filled).value();
  }
  if (const std::string problem = Problem(program); !problem.empty()) return Usage(problem);
  const auto command = launch::OnSoftwareGpu(softgpu_, program);
  if (!command.ok()) return Usage(command.error().message);
  TraceOutput output = Output();

  // From here on the program runs, whatever becomes of the recording.
  launch::Environment environment = launch::CurrentEnvironment();
  launch::Recording recording = recording_;
  const auto prepared = launch::PrepareLog(log_directory_, output.rpd, &recording);
  const bool temporary = prepared.ok() && log_directory_.empty();
  const auto remove_log = [&] {
    std::error_code ignored;
    if (temporary) fs::remove_all(recording.log_directory, ignored);
  };
  std::optional<swap::KernelCache> cache;
  if (const swap::KernelCacheOptions options = SwapOptions();
      prepared.ok() && !options.directory.empty()) {
    auto opened = swap::KernelCache::Open(options, recording.log_directory / "kernel-cache");
    // Results would not be those of the kernels that were asked for.
    if (!opened.ok()) {
      remove_log();
      base::LogError(opened.error().message);
      return base::kExitSetup;
    }
    cache.emplace(std::move(opened).value());
    if (recording.swap_verify != 0) {
      std::error_code error;
      fs::create_directory(swap::SwapSamples(recording.log_directory), error);
      if (error)
        base::LogWarning("no launches can be captured, to be compared: " + error.message());
    }
    recording.swap_list = cache->list();
    if (cache->kernels() == 0)
      base::LogWarning(fmt::format("'{}' holds no kernels yet{}", options.directory.string(),
                                   swap_.empty() ? "" : " whose names match --swap"));
  }
  const auto look_at_cache = [&]() -> std::chrono::milliseconds {
    if (!cache) return std::chrono::hours(1);
    const std::chrono::milliseconds next = cache->Look();
    for (const std::string& remark : cache->TakeRemarks()) base::LogWarning(remark);
    return next;
  };
  look_at_cache();
  if (prepared.ok()) {
    WriteRunFile(recording.log_directory, program, recording);
    for (const std::string& remark : launch::SetRecording(recording, &environment))
      base::LogWarning(remark);
  } else {
    base::LogWarning("nothing is recorded: " + prepared.error().message);
  }
  int error_number = 0;
  auto child =
      launch::ChildProcess::Start(command.value(), launch::Lines(environment), &error_number);
  if (!child.ok()) {
    remove_log();
    return launch::CannotStart(child.error(), error_number);
  }
  launch::ChildProcess::OutliveReaders();
  launch::GpuUse gpu_use(recording.agent, recording.log_directory);
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_use = Clock::now();
  const auto meanwhile = [&] {
    const Clock::time_point now = Clock::now();
    if (now >= next_use) next_use = now + gpu_use.Look(child.value().pid());
    return std::min(std::chrono::ceil<std::chrono::milliseconds>(next_use - now), look_at_cache());
  };
  const int status = prepared.ok() ? child.value().Wait(meanwhile) : child.value().Wait();
  if (!prepared.ok()) launch::ChildProcess::EndLike(status == 0 ? base::kExitSetup << 8 : status);
  const std::vector<launch::UnrecordedProcess> unrecorded = gpu_use.Unrecorded();
  WriteEnd(recording.log_directory, status, unrecorded);

  const bool empty = !IsLogFolder(recording.log_directory);
  if (const auto daemons = gpu_use.LeftBehind(); empty && temporary && !daemons.empty()) {
    base::LogInfo(
        fmt::format("The program has ended and left {} behind (the first is {}). What they do on a "
                    "GPU is recorded in '{}': rochound explain {} reads that.",
                    base::Count(daemons.size(), "process", "processes"), daemons[0],
                    recording.log_directory.string(), output.rpd.string()));
    launch::ChildProcess::EndLike(status);
  }
  const std::string why = empty ? launch::WhyNothing(program, status, unrecorded) : "";
  if (empty && unrecorded.empty()) base::LogWarning("nothing was recorded: " + why);
  if (empty && !unrecorded.empty()) base::LogError("nothing was recorded: " + why);
  if (!empty)
    for (const launch::UnrecordedProcess& process : unrecorded)
      base::LogWarning(launch::Describe(process));
  // An empty trace of a busy GPU must not pass for a good run.
  const int own_status =
      empty && !unrecorded.empty() && status == 0 ? base::kExitUnrecorded << 8 : status;
  if (!force_ && !log_only_) KeepEarlierTrace(&output.rpd);
  if (recording.swap_verify != 0)
    swap::CompareSwaps(swap::SwapSamples(recording.log_directory), softgpu_,
                       temporary ? output.rpd : "");
  if (log_only_) launch::ChildProcess::EndLike(own_status);

  output.fault = doctor::ReportFaults(recording.log_directory, output.rpd);
  const auto summary = MakeOutput(recording.log_directory, output, why);
  if (!summary.ok()) {
    base::LogError(summary.error().message);
    base::LogInfo(fmt::format("The log is in '{}'. Try again with rochound log recover '{}' -o {}",
                              recording.log_directory.string(), recording.log_directory.string(),
                              output.rpd.string()));
    launch::ChildProcess::EndLike(status == 0 ? base::kExitSetup << 8 : status);
  }
  // Findings take a second or so, which a script that records often would rather have. They begin
  // with the story that the summary has otherwise.
  FindingsOfRun findings;
  if (!quiet_ && !empty && (findings_ || isatty(STDERR_FILENO) == 1))
    findings = RunFindings(output.rpd);
  std::fputs(findings.text.c_str(), stderr);
  if (!quiet_ && !empty)
    std::fputs(SummaryText(summary.value(), output, !findings.are_findings).c_str(), stderr);
  if (temporary && summary.value().running > 0) {
    base::LogInfo(fmt::format("A process of the program goes on; what it does is recorded in '{}'.",
                              recording.log_directory.string()));
  } else {
    remove_log();
  }
  launch::ChildProcess::EndLike(own_status);
}

}  // namespace rochound::cli
