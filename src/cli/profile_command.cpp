// SPDX-License-Identifier: MIT
#include "cli/profile_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/pattern.h"
#include "capture/bundle.h"
#include "cli/profile_trace.h"
#include "cli/usage_formatter.h"
#include "codeobj/demangle.h"
#include "launch/child_process.h"
#include "launch/recorded_program.h"
#include "launch/replay_poison.h"
#include "launch/replay_process.h"
#include "launch/run_environment.h"
#include "profile/counter_plan.h"
#include "profile/gpu_peaks.h"
#include "profile/measure_peaks.h"
#include "profile/measured_peaks.h"
#include "profile/profile_files.h"
#include "profile/roofline_svg.h"
#include "profile/run_rocprof.h"
#include "profile/thread_trace.h"
#include "report/replay_text.h"
#include "softgpu/tree/gpu_model.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr const char* kProfileExamples = R"(
Examples:
  rochound profile -- ./vector_add
  rochound profile --gpu rx6800xt --kernel gemm -o out -- ./program
  rochound profile --replay gemm.bundle
  rochound profile --trace trace.rpd
  rochound profile --thread-trace --kernel gemm -- ./program
  rochound profile --att att_output
  rochound profile --rocprofv3 --target gfx942 -o out -- ./program
  rochound profile --read out/pass_1 out/pass_2 --target gfx942
  rochound profile --measure-peaks -o here
  rochound profile --read out --target gfx942 --peaks here/peaks.json

The program runs on a software GPU, which counts what every kernel does, exactly;
no card is needed. The page says what each kernel is limited by on that GPU, with
the figures that led to it (analysis.json), and on which side of the roofline it
is (roofline.json; profile.json has the counts): these times are the least that
the GPU can take. It begins with what each kernel is worth from the first event
to the last, by the trace that was recorded meanwhile (dag.json, profile.rpd).
docs/formats/profile.md describes the files. The program's exit code and signals
are passed through.

With --replay, a launch that rochound capture has kept is profiled, again and
again: it has the same memory each time, and its results are compared with the
captured ones. The exit code is that of rochound replay.
With --trace, dag.json is made of a trace that is there, recorded on any GPU.
With --read, counters come from files that rocprofv3 --pmc or rocprofiler-compute
has written on a GPU, and profile.json holds them with the metrics that follow from them; analysis.json
says what limits each kernel by them, and roofline.json on which side of the roofline
it is, with the peaks of the card that --gpu names.
With --rocprofv3, which has to be installed, the program runs on this machine's GPU
under it, once for each pass of counters, and they are read like that.
With --measure-peaks, small kernels measure what this machine's GPU can do at most, for
each level of memory and each type (peaks.json); hipcc has to be installed. --peaks
compares with these instead of the table's.
With --thread-trace, thread_trace.json says what each instruction and each line of
the source costs, by the software GPU's model; with --att it is made of a thread
trace that rocprofv3 --att has decoded.

Exit codes of rochound itself: 2 wrong usage, 125 set-up failed, 126 program
cannot be started, 127 program not found.
)";

bool IsWanted(const base::Pattern& pattern, const std::string& symbol) {
  return pattern.FoundIn(symbol) || pattern.FoundIn(codeobj::Demangle(symbol));
}

// Launches whose symbol or C++ name has a match.
void KeepMatching(const std::string& expression, profile::CounterSet* set) {
  const auto pattern = base::Pattern::Compile(expression);
  if (expression.empty() || !pattern.ok()) return;  // Run has checked it
  std::erase_if(set->launches, [&](const profile::Launch& launch) {
    return !IsWanted(pattern.value(), launch.kernel);
  });
}

Result<void> WriteOutput(const fs::path& folder, const char* name, const std::string& text) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::ErrnoError("cannot create", folder, error.value());
  return base::WriteFileAtomically(folder / name, text);
}

// Counts that are not the same each time that the same launch ran.
void WarnOfDifferences(profile::CounterSet* set) {
  const auto& launches = set->launches;
  for (size_t i = 1; i < launches.size(); ++i) {
    for (const auto& [name, value] : launches[0].exact) {
      const auto other = launches[i].exact.find(name);
      if (other != launches[i].exact.end() && other->second == value) continue;
      set->warnings.push_back(
          fmt::format("the launch does not do the same each time: {} was {:.0f} in the first run, "
                      "and not in run {}; verdicts are of the mean",
                      name, value, i + 1));
      return;
    }
  }
}

// The part of the page about instructions, after thread_trace.json is written.
Result<std::string> ReportInstructions(const fs::path& counters, const std::string& kernel,
                                       const std::vector<profile::CodeFile>& code,
                                       const fs::path& output) {
  ROCHOUND_TRY(const base::Pattern pattern, base::Pattern::Compile(kernel));
  const auto wanted = [&](const std::string& symbol) {
    return kernel.empty() || IsWanted(pattern, symbol);
  };
  ROCHOUND_TRY(profile::WrittenTraces written,
               profile::WriteSoftgpuTraces(counters, wanted, code, output / "thread_trace"));
  ROCHOUND_TRY(profile::ThreadTraces traces, profile::ReadThreadTraces(written.files));
  traces.warnings.insert(traces.warnings.begin(), written.warnings.begin(), written.warnings.end());
  ROCHOUND_CHECK(WriteOutput(output, "thread_trace.json", profile::ThreadTraceJson(traces)));
  return profile::ThreadTracePage(traces);
}

// Where the results of a profile go.
struct Outputs {
  fs::path folder;
  std::string svg;    // "": no picture
  std::string peaks;  // measured ones to compare with; "": the table's
};

Result<void> UsePeaks(const Outputs& outputs, const profile::Device& device, profile::Peaks* peaks,
                      std::vector<std::string>* warnings) {
  if (outputs.peaks.empty()) return {};
  ROCHOUND_TRY(const profile::MeasuredPeaks measured, profile::LoadMeasuredPeaks(outputs.peaks));
  return profile::UseMeasuredPeaks(measured, device, peaks, warnings);
}

Result<void> WriteRooflines(const profile::CounterSet& set, const profile::Device& device,
                            const profile::Peaks& peaks,
                            const std::vector<profile::KernelRoofline>& kernels,
                            const Outputs& outputs) {
  ROCHOUND_CHECK(WriteOutput(outputs.folder, "roofline.json",
                             profile::RooflineJson(set, device, peaks, kernels)));
  if (outputs.svg.empty()) return {};
  return base::WriteFileAtomically(outputs.svg, profile::RooflineSvg(device, peaks, kernels));
}

// As long as it lives, what is written to the standard output goes into a file.
class OutputInFile {
 public:
  explicit OutputInFile(const fs::path& file) {
    fflush(stdout);
    const int to = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (to < 0) return;
    before_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    dup2(to, STDOUT_FILENO);
    close(to);
  }
  OutputInFile(const OutputInFile&) = delete;
  OutputInFile& operator=(const OutputInFile&) = delete;
  ~OutputInFile() {
    if (before_ < 0) return;
    dup2(before_, STDOUT_FILENO);
    close(before_);
  }

 private:
  int before_ = -1;
};

// What a counted replay said, as text. It does not look for what the launch writes, since launches
// that do are not to be counted. Where that is needed to verify it, it is done here; *status
// follows.
std::string ReplayPage(const std::string& bundle, const std::string& gpu, const std::string& said,
                       int* status) {
  constexpr double kTimeoutSeconds = 60;  // for one launch
  auto answer = nlohmann::ordered_json::parse(said, nullptr, false);
  if (!answer.is_object()) return said;
  if (launch::VerdictOf(answer) == capture::replay::Verdict::kNotVerified) {
    std::vector<std::string> arguments = {"run", bundle};
    const std::string ranges = launch::FindPoison(bundle, gpu, kTimeoutSeconds);
    if (!ranges.empty()) arguments.insert(arguments.end(), {"--poison", ranges});
    const auto proof = launch::RunReplay(arguments, gpu);
    if (!proof.ok()) return report::ReplayText(answer);
    for (const char* name : {"verdict", "message", "proof", "poison", "differences"}) {
      answer.erase(name);
      if (proof.value().answer.contains(name)) answer[name] = proof.value().answer[name];
    }
    *status = capture::replay::ExitCode(launch::VerdictOf(answer)) << 8;
  }
  return report::ReplayText(answer);
}

// The page, after the files are written.
Result<std::string> Report(const fs::path& counters, const softgpu::GpuModel& gpu,
                           const std::string& kernel, const profile::Worths& worths,
                           bool is_one_launch, const Outputs& outputs) {
  ROCHOUND_TRY(profile::CounterSet set, profile::SoftgpuCounters(counters)->Read());
  KeepMatching(kernel, &set);
  if (is_one_launch) WarnOfDifferences(&set);
  const profile::Device device = profile::DeviceOf(gpu);
  profile::Peaks peaks;
  const auto architecture = profile::FindArchitecture(gpu.target);
  if (architecture.ok()) {
    peaks = profile::PeaksOf(device, architecture.value());
  } else {
    set.warnings.push_back(fmt::format(
        "no peaks are known for {} yet: there are counts, but no verdicts", gpu.target));
  }
  ROCHOUND_CHECK(UsePeaks(outputs, device, &peaks, &set.warnings));
  const auto kernels = profile::MakeRooflines(set, peaks);
  ROCHOUND_TRY(const std::string all, profile::ProfileJson(set, nullptr));
  ROCHOUND_CHECK(WriteOutput(outputs.folder, "profile.json", all));
  ROCHOUND_CHECK(WriteRooflines(set, device, peaks, kernels, outputs));
  ROCHOUND_TRY(const fs::path rules_file,
               base::FindBesideExecutable("../share/rochound/bottleneck.json", "the rules"));
  ROCHOUND_TRY(const profile::BottleneckRules rules, profile::LoadBottleneckRules(rules_file));
  ROCHOUND_TRY(const auto bottlenecks, profile::FindBottlenecks(set, device, peaks, {}, rules));
  ROCHOUND_CHECK(WriteOutput(outputs.folder, "analysis.json",
                             profile::AnalysisJson(set, device, bottlenecks, kernels, worths)));
  return profile::AnalysisPage(
             bottlenecks, kernels,
             "rules over exact counts and the software GPU's model; no measurement") +
         profile::RooflinePage(set, device, peaks, kernels);
}

// The card whose peaks the counters are compared with: the one that is named, or the first of
// those we know with this target.
Result<softgpu::GpuModel> CardOf(const std::string& name, const std::string& target) {
  ROCHOUND_TRY(const std::vector<softgpu::GpuModel> known, softgpu::LoadKnownGpuModels());
  if (!name.empty()) return softgpu::PickGpuModel(name, known);
  for (const softgpu::GpuModel& model : known)
    if (model.target == target) return model;
  return base::Error{fmt::format("no card with the target {} is known: see --gpu", target)};
}

// What limits kernels by counters of a GPU, and their roofline: the page, after analysis.json and
// roofline.json are written.
Result<std::string> ReportLimits(profile::CounterSet set, const profile::Architecture& architecture,
                                 const softgpu::GpuModel& gpu, const Outputs& outputs,
                                 const std::vector<profile::InstructionMix>& mixes) {
  const profile::Device device = profile::DeviceOf(gpu);
  profile::Peaks peaks = profile::PeaksOf(device, architecture);
  ROCHOUND_CHECK(UsePeaks(outputs, device, &peaks, &set.warnings));
  ROCHOUND_TRY(const auto rooflines,
               profile::MakeMeasuredRooflines(set, peaks, architecture.metrics, mixes));
  ROCHOUND_CHECK(WriteRooflines(set, device, peaks, rooflines, outputs));
  ROCHOUND_TRY(const fs::path file, base::FindBesideExecutable(
                                        "../share/rochound/bottleneck-counters.json", "the rules"));
  ROCHOUND_TRY(const profile::BottleneckRules rules, profile::LoadBottleneckRules(file));
  ROCHOUND_TRY(const auto kernels,
               profile::FindBottlenecks(set, device, peaks, architecture.metrics, rules));
  profile::Worths worths;
  for (const profile::Launch& launch : set.launches) {
    if (launch.nanoseconds)
      worths[codeobj::Demangle(launch.kernel)].time_ms += *launch.nanoseconds * 1e-6;
  }
  ROCHOUND_CHECK(WriteOutput(outputs.folder, "analysis.json",
                             profile::AnalysisJson(set, device, kernels, rooflines, worths)));
  return profile::AnalysisPage(
             kernels, rooflines,
             fmt::format("rules over hardware counters, with the peaks of {}", gpu.name).c_str()) +
         profile::RooflinePage(set, device, peaks, rooflines) + "\n";
}

}  // namespace

const char* ProfileCommand::examples() const { return kProfileExamples; }

ProfileCommand::ProfileCommand(CLI::App& app)
    : Command(app.add_subcommand("profile",
                                 "Count what kernels do on a software GPU, and what limits them")) {
  UsageFormatter::Set(*subcommand_, "rochound profile [OPTIONS] -- PROGRAM [ARGUMENTS]");
  subcommand_
      ->add_option(
          "--gpu", gpu_,
          "The software GPU: a name of rochound softgpu --list, or the path of a .json "
          "file (default: mi300x; with --replay, one with the captured GPU's target). With "
          "--read: the card whose peaks are compared with")
      ->type_name("GPU");
  subcommand_
      ->add_option("--kernel", kernel_,
                   "Only kernels whose symbol or C++ name has a match of this regular expression "
                   "(ECMAScript)")
      ->type_name("REGEX");
  subcommand_
      ->add_option("-o,--output", output_,
                   "Folder for the files that are written (default: this one)")
      ->type_name("DIR");
  subcommand_->add_option("--svg", svg_, "Draw the roofline into this file")->type_name("FILE");
  subcommand_->add_flag("--measure-peaks", measure_peaks_,
                        "Measure what this machine's GPU can do at most: peaks.json");
  subcommand_
      ->add_option("--peaks", peaks_, "Compare with these measured peaks, not with the table's")
      ->type_name("FILE");
  subcommand_
      ->add_option("--replay", replay_,
                   "Profile a captured launch, which rochound capture has made")
      ->type_name("BUNDLE");
  subcommand_->add_option("--iterations", iterations_, "With --replay: how often (default: 3)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  subcommand_
      ->add_option("--trace", trace_,
                   "Read a trace instead, of any format that rochound explain takes: dag.json")
      ->type_name("TRACE");
  subcommand_
      ->add_option("--read", read_,
                   "Read counters of rocprofv3 instead: *counter_collection.csv, *_results.json, "
                   "*_results.db (rocpd), or folders that hold them; several are passes over the "
                   "same program")
      ->type_name("PATH...");
  subcommand_->add_flag("--rocprofv3", rocprof_,
                        "Run the program on this machine's GPU under rocprofv3, once for each pass "
                        "of the counters that verdicts and metrics need");
  subcommand_
      ->add_option("--att", att_,
                   "Read a thread trace that rocprofv3 --att has decoded: a folder with code.json, "
                   "or one that holds several. With --read: it stands in for operations where "
                   "the GPU has no counters of them (RDNA)")
      ->type_name("DIR...");
  subcommand_->add_flag("--thread-trace", thread_trace_,
                        "Also what each instruction and line of the source costs, by the software "
                        "GPU's model: the first launch of each kernel and shape");
  subcommand_
      ->add_option("--cache-model", caches_,
                   "Also model what would be found in caches, as rochound softgpu --cache-model")
      ->type_name("device|LIST");
  subcommand_
      ->add_option("--code", code_,
                   "With --thread-trace: files that hold code besides the program: libraries, code "
                   "objects")
      ->type_name("FILE...");
  subcommand_
      ->add_option(
          "--target", target_,
          "With --read and --rocprofv3: the GPU's target, such as gfx942 (default: what the "
          "files say)")
      ->type_name("TARGET");
  subcommand_->add_option("program", stray_)->group("");  // only to say what is wrong with it
}

int ProfileCommand::ReadFiles(const std::vector<fs::path>& paths) const {
  auto set = profile::RocprofFiles(paths)->Read();
  if (!set.ok()) {
    base::LogError(set.error().message);
    return base::kExitFailure;
  }
  KeepMatching(kernel_, &set.value());
  std::string target = target_;
  for (const profile::Launch& launch : set.value().launches) {
    if (target.empty()) target = launch.target;
  }
  if (target.empty())
    return Usage("the files do not say which GPU they are from: give --target, such as gfx942");
  const auto architecture = profile::FindArchitecture(target);
  if (!architecture.ok()) {
    base::LogError(architecture.error().In("no metrics are known for " + target).message);
    return base::kExitFailure;
  }
  const auto all = profile::ProfileJson(set.value(), &architecture.value());
  const auto page = profile::MetricsPage(set.value(), architecture.value());
  if (!all.ok() || !page.ok()) {
    base::LogError((all.ok() ? page.error() : all.error()).message);
    return base::kExitFailure;
  }
  if (const auto written = WriteOutput(output_, "profile.json", all.value()); !written.ok()) {
    base::LogError(written.error().message);
    return base::kExitFailure;
  }
  const auto gpu = CardOf(gpu_, target);
  if (!gpu.ok() && !gpu_.empty()) return Usage(gpu.error().message);
  std::vector<profile::InstructionMix> mixes;
  if (!att_.empty()) {
    const auto traces = profile::ReadThreadTraces({att_.begin(), att_.end()});
    if (!traces.ok()) {
      base::LogError(traces.error().message);
      return base::kExitFailure;
    }
    mixes = profile::MixesOf(traces.value());
  }
  std::string limits;
  if (gpu.ok()) {
    auto made = ReportLimits(set.value(), architecture.value(), gpu.value(),
                             {output_, svg_, peaks_}, mixes);
    if (!made.ok()) {
      base::LogError(made.error().message);
      return base::kExitFailure;
    }
    limits = std::move(made).value();
  } else {
    base::LogWarning(gpu.error().message);
  }
  fmt::print("{}{}", limits, page.value());
  return base::kExitSuccess;
}

int ProfileCommand::RunUnderRocprof(const std::vector<std::string>& program) const {
  std::string target = target_;
  if (target.empty()) {
    const auto gpu = CardOf(gpu_, "");
    if (!gpu.ok()) return Usage("which GPU is it? Give --target, such as gfx942, or --gpu");
    target = gpu.value().target;
  }
  const auto architecture = profile::FindArchitecture(target);
  const auto file =
      base::FindBesideExecutable("../share/rochound/bottleneck-counters.json", "the rules");
  if (!architecture.ok() || !file.ok()) {
    base::LogError((architecture.ok() ? file.error() : architecture.error()).message);
    return base::kExitSetup;
  }
  const auto rules = profile::LoadBottleneckRules(file.value());
  if (!rules.ok()) {
    base::LogError(rules.error().message);
    return base::kExitSetup;
  }
  const auto counters = profile::WantedCounters(rules.value(), architecture.value());
  const auto run = profile::RunRocprof(profile::PlanPasses(counters, architecture.value()), kernel_,
                                       fs::path(output_) / "rocprofv3", program);
  if (!run.ok()) {
    base::LogError(run.error().message);
    return base::kExitSetup;
  }
  if (run.value().status != 0) launch::ChildProcess::EndLike(run.value().status);
  return ReadFiles(run.value().folders);
}

int ProfileCommand::Measure() const {
  const auto page = profile::MeasurePeaks(output_);
  if (!page.ok()) {
    base::LogError(page.error().message);
    return base::kExitSetup;
  }
  fmt::print("{}", page.value());
  return base::kExitSuccess;
}

int ProfileCommand::ReadTrace() const {
  const auto dag = MakeProfileDag(trace_, kernel_);
  if (!dag.ok()) {
    base::LogError(dag.error().message);
    return base::kExitFailure;
  }
  if (const auto written = WriteOutput(output_, "dag.json", dag.value().json); !written.ok()) {
    base::LogError(written.error().message);
    return base::kExitFailure;
  }
  fmt::print("{}", dag.value().page.empty() ? "No kernel was launched.\n" : dag.value().page);
  return base::kExitSuccess;
}

int ProfileCommand::ReadThreadTrace() const {
  const auto traces = profile::ReadThreadTraces({att_.begin(), att_.end()});
  if (!traces.ok()) {
    base::LogError(traces.error().message);
    return base::kExitFailure;
  }
  const auto written =
      WriteOutput(output_, "thread_trace.json", profile::ThreadTraceJson(traces.value()));
  if (!written.ok()) {
    base::LogError(written.error().message);
    return base::kExitFailure;
  }
  fmt::print("{}", profile::ThreadTracePage(traces.value()));
  return base::kExitSuccess;
}

int ProfileCommand::Replay() {
  const auto bundle = capture::Bundle::Open(replay_);
  const auto rochound = base::ExecutablePath();
  const auto known = softgpu::LoadKnownGpuModels();
  if (!bundle.ok() || !rochound.ok() || !known.ok()) {
    base::LogError((!bundle.ok()     ? bundle.error()
                    : !rochound.ok() ? rochound.error()
                                     : known.error())
                       .message);
    return base::kExitSetup;
  }
  const capture::Manifest& manifest = bundle.value().manifest();
  const std::string& target = manifest.agents[static_cast<size_t>(manifest.agent)].name;
  std::string gpu = gpu_;
  for (const softgpu::GpuModel& model : known.value()) {
    if (gpu.empty() && model.target == target) gpu = model.name;
  }
  if (gpu.empty())
    return Usage(
        fmt::format("no software GPU has the captured one's target, {}: see --gpu", target));
  // Blit kernels and the like are not what was captured.
  kernel_ = "^";
  for (const char c : manifest.kernel) {
    const bool is_plain = isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    kernel_ += is_plain ? std::string(1, c) : std::string("\\") + c;
  }
  kernel_ += "$";
  const auto object = bundle.value().code_object();
  std::vector<profile::CodeFile> code;
  code.push_back({replay_, {reinterpret_cast<const char*>(object.data()), object.size()}});
  return RunProgram(gpu,
                    {rochound.value().string(), "replay", "run", replay_, "--no-poison", "--json",
                     "--iterations", std::to_string(iterations_ == 0 ? 3 : iterations_)},
                    false, std::move(code));
}

int ProfileCommand::RunProgram(const std::string& gpu_name, const std::vector<std::string>& program,
                               bool record, std::vector<profile::CodeFile> code) const {
  for (const std::string& file : code_) {
    auto bytes = base::ReadFile(file);
    if (!bytes.ok()) return Usage("--code: " + bytes.error().message);
    code.push_back({file, std::move(bytes).value()});
  }
  const auto known = softgpu::LoadKnownGpuModels();
  if (!known.ok()) {
    base::LogError(known.error().message);
    return base::kExitSetup;
  }
  const auto gpu = softgpu::PickGpuModel(gpu_name, known.value());
  if (!gpu.ok()) return Usage(gpu.error().message);
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  const auto folder = base::TempDir::Create(error ? "/tmp" : temporary, "rochound-profile-");
  const auto rochound = base::ExecutablePath();
  if (!folder.ok() || !rochound.ok()) {
    base::LogError((folder.ok() ? rochound.error() : folder.error()).message);
    return base::kExitSetup;
  }
  fs::create_directories(output_, error);
  if (error) {
    base::LogError(base::ErrnoError("cannot create", output_, error.value()).message);
    return base::kExitSetup;
  }
  const fs::path counters = folder.value().path() / "counters.jsonl";
  const fs::path trace = fs::path(output_) / "profile.rpd";
  const std::string self = rochound.value().string();
  std::vector<std::string> command;
  if (record) command = {self, "run", "--quiet", "--force", "--output", trace.string(), "--"};
  command.insert(command.end(),
                 {self, "softgpu", "--gpu", gpu_name, "--counters", counters.string()});
  if (thread_trace_) command.emplace_back("--counters-code");
  if (!caches_.empty()) command.insert(command.end(), {"--cache-model", caches_});
  command.emplace_back("--");
  command.insert(command.end(), program.begin(), program.end());
  int error_number = 0;
  const fs::path said = folder.value().path() / "said";
  int status = 0;
  {
    std::optional<OutputInFile> into;
    if (!record) into.emplace(said);
    auto child = launch::ChildProcess::Start(command, launch::Lines(launch::CurrentEnvironment()),
                                             &error_number);
    if (!child.ok()) return launch::CannotStart(child.error(), error_number);
    status = child.value().Wait();
  }
  if (!record) {
    const auto text = base::ReadFile(said);
    if (text.ok()) fmt::print("{}", ReplayPage(replay_, gpu_name, text.value(), &status));
  }
  ProfileDag dag;
  if (record) {
    auto made = MakeProfileDag(trace, kernel_);
    if (!made.ok()) {
      base::LogWarning(made.error().message);
    } else {
      dag = std::move(made).value();
      const auto written = WriteOutput(output_, "dag.json", dag.json);
      if (!written.ok()) base::LogWarning(written.error().message);
    }
  }
  const auto page =
      Report(counters, gpu.value(), kernel_, dag.worths, !record, {output_, svg_, peaks_});
  std::string instructions;
  if (thread_trace_ && page.ok()) {
    auto made = ReportInstructions(counters, kernel_, code, output_);
    if (!made.ok()) base::LogWarning(made.error().message);
    if (made.ok()) instructions = std::move(made).value();
  }
  std::error_code ignored;
  fs::remove_all(folder.value().path(), ignored);  // EndLike does not come back
  if (!page.ok()) {
    base::LogError(page.error().message);
    launch::ChildProcess::EndLike(status == 0 ? base::kExitSetup << 8 : status);
  }
  fmt::print("{}{}{}", dag.page, page.value(), instructions);
  launch::ChildProcess::EndLike(status);
}

int ProfileCommand::Run(const std::vector<std::string>& program) {
  if (!stray_.empty()) {
    return Usage(
        fmt::format("put -- before the program: rochound profile [OPTIONS] -- {}", stray_[0]));
  }
  if (const auto pattern = base::Pattern::Compile(kernel_); !pattern.ok())
    return Usage(fmt::format("--kernel: '{}' is no regular expression: {}", kernel_,
                             pattern.error().message));
  if (!caches_.empty() && !(att_.empty() && read_.empty() && trace_.empty()))
    return Usage("--cache-model goes with a program or --replay");
  if (!code_.empty() && !thread_trace_) return Usage("--code goes with --thread-trace");
  if (thread_trace_ && !(att_.empty() && read_.empty() && trace_.empty()))
    return Usage("--thread-trace goes with a program or --replay");
  if (!peaks_.empty() && (!trace_.empty() || (!att_.empty() && read_.empty())))
    return Usage("--peaks goes with what makes a roofline: a program, --replay or --read");
  if (measure_peaks_) {
    if (!(program.empty() && att_.empty() && read_.empty() && trace_.empty() && replay_.empty() &&
          svg_.empty() && peaks_.empty() && gpu_.empty() && kernel_.empty() && target_.empty()) ||
        rocprof_ || thread_trace_)
      return Usage("--measure-peaks only goes with -o");
    return Measure();
  }
  if (!att_.empty()) {
    if (!program.empty() || !trace_.empty() || !replay_.empty())
      return Usage("--att reads a thread trace: no program, --trace or --replay");
    if (read_.empty()) return ReadThreadTrace();
  }
  if (!read_.empty()) {
    if (!program.empty()) return Usage("--read runs no program");
    if (!trace_.empty() || !replay_.empty())
      return Usage("--read, --trace and --replay do not go together");
    return ReadFiles({read_.begin(), read_.end()});
  }
  if (rocprof_) {
    if (program.empty()) return Usage("--rocprofv3 runs a program; none is given");
    if (!(trace_.empty() && replay_.empty() && caches_.empty()) || thread_trace_)
      return Usage("--rocprofv3 only goes with --target, --gpu, --kernel, --svg, --peaks and -o");
    return RunUnderRocprof(program);
  }
  if (!target_.empty()) return Usage("--target goes with --read or --rocprofv3");
  if (iterations_ != 0 && replay_.empty()) return Usage("--iterations goes with --replay");
  if (!replay_.empty()) {
    if (!program.empty() || !trace_.empty() || !kernel_.empty())
      return Usage("--replay runs one captured launch: no program, --trace or --kernel");
    return Replay();
  }
  if (!trace_.empty()) {
    if (!program.empty()) return Usage("--trace runs no program");
    if (!svg_.empty()) return Usage("--svg draws what a software GPU counts; --trace has none");
    return ReadTrace();
  }
  if (program.empty()) return Usage("no program given; example: rochound profile -- ./vector_add");
  std::vector<profile::CodeFile> code;
  if (thread_trace_) {
    const fs::path file = base::FindProgram(program[0]);
    if (auto bytes = base::ReadFile(file); bytes.ok())
      code.push_back({file.string(), std::move(bytes).value()});
  }
  return RunProgram(gpu_.empty() ? "mi300x" : gpu_, program, true, std::move(code));
}

}  // namespace rochound::cli
