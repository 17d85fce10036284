// SPDX-License-Identifier: MIT
#include "cli/probe_command.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <system_error>
#include <utility>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/units.h"
#include "cli/probe_hsaco.h"
#include "cli/trace_output.h"
#include "cli/usage_formatter.h"
#include "codeobj/demangle.h"
#include "contract/variables.h"
#include "launch/child_process.h"
#include "launch/gpu_use.h"
#include "launch/recorded_program.h"
#include "launch/work_apart.h"
#include "probe/analyzer.h"
#include "probe/machine_view.h"
#include "probe/plugin.h"
#include "probe/stream.h"
#include "store/convert/filter.h"
#include "swap/kernel_cache.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr const char* kProbeExamples = R"(
Examples:
  rochound probe build -- hipcc --offload-arch=gfx942 -O3 app.hip -o app
  rochound probe -- ./app                      every access to memory, as JSON lines
  rochound probe -k blur -l accesses.csv -- ./app
  rochound probe --filter-x 0:4 --lanes 1 -- ./app   a sample: four workgroups, lane 0
  rochound probe -a memory -- ./app            which lines of the source waste cache lines
  rochound probe -a races,bounds,uninit -- ./app
  rochound probe build --blocks -- hipcc app.hip -o app && rochound probe -a blocks -- ./app
  rochound probe hsaco app -o probed && rochound probe -c probed -- ./app   from bitcode
  rochound probe --softgpu mi300x -- ./app

A program that was built with probes runs as ever without this command. Probes see
loads, stores and atomics of global memory and LDS; docs/guides/probe.md says what
they do not see. The program's output, exit code and signals are passed through.
DH_COMMS_GROUP_FILTER_X, _Y and _Z and the LOGDUR_ variables mean what they mean for
omniprobe (docs/guides/probe.md). Exit codes of
rochound itself: 2 wrong usage, 125 there are no messages although the program ended
with 0, 126 program cannot be started, 127 program not found.
)";

// However busy the machine is, a library is loaded within that.
constexpr uint64_t kLoadLimitNs = 60'000'000'000;

constexpr const char* kPlugin = "../lib/librochound_probe_pass.so";
constexpr const char* kBlockPlugin = "../lib/librochound_probe_blocks.so";

bool IsCompiler(const std::string& program) {
  static const std::regex kNames("(amd)?(hipcc|clang|clang\\+\\+|clang-[0-9]+|hipcc\\.bin)");
  return std::regex_match(fs::path(program).filename().string(), kNames);
}

bool IsRange(const std::string& text) {
  static const std::regex kRange("[0-9]{1,9}(:[0-9]{1,9})?");
  return std::regex_match(text, kRange);
}

// How many dispatches of each kernel are wanted, from the first on; 0: that is not what it says.
uint64_t FirstDispatches(const std::string& text) {
  static const std::regex kNumber("[0-9]{1,9}");
  if (text == "first") return 1;
  return std::regex_match(text, kNumber) ? strtoull(text.c_str(), nullptr, 10) : 0;
}

// A share of all dispatches, of UINT32_MAX: random:P with P between 0 and 1, or omniprobe's random,
// which is a hundredth; 0: not understood.
uint32_t SampleOf(const std::string& text) {
  if (text == "all" || FirstDispatches(text) != 0) return UINT32_MAX;
  constexpr std::string_view kRandom = "random:";
  if (text != "random" && !text.starts_with(kRandom)) return 0;
  char* rest = nullptr;
  const std::string number = text == "random" ? "0.01" : text.substr(kRandom.size());
  const double share = strtod(number.c_str(), &rest);
  if (number.empty() || *rest != '\0' || !(share > 0 && share <= 1)) return 0;
  return static_cast<uint32_t>(std::max(1.0, share * UINT32_MAX));
}

std::string Place(const std::vector<probe::Location>& at) {
  return at.empty() ? "a place without debug information"
                    : fmt::format("{}:{}", at[0].file, at[0].line);
}

// What a program sees that it would not see without us.
void PrintChanges(const launch::Environment& environment) {
  const launch::Environment before = launch::CurrentEnvironment();
  for (const auto& [name, value] : environment) {
    const auto known = before.find(name);
    if (known == before.end() || known->second != value) fmt::print(stderr, "{}={}\n", name, value);
  }
}

std::string AnalyzerNames() {
  std::string names;
  for (const probe::AnalyzerKind& kind : probe::AnalyzerKinds())
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  return names;
}

std::string AnalyzerHelp() {
  std::string text = "What to make of the messages:";
  for (const probe::AnalyzerKind& kind : probe::AnalyzerKinds())
    text += fmt::format("\n{}: {}", kind.name, kind.answers);
  return text + "\nPATH.so: one of your own (rochound/analyzer.h)";
}

// Which waves cannot tell what an analyzer asks about; empty: none of them.
uint64_t WavesWithout(probe::Needs needs, const probe::StreamSummary& summary) {
  if (needs == probe::Needs::kAny) return 0;
  return needs == probe::Needs::kBlocks ? summary.waves - summary.block_waves : summary.block_waves;
}

bool LacksAll(probe::Needs needs, const probe::StreamSummary& summary) {
  return summary.waves != 0 && WavesWithout(needs, summary) == summary.waves;
}

std::string LackOfProbes(probe::Needs needs, const probe::StreamSummary& summary) {
  const uint64_t without = WavesWithout(needs, summary);
  if (without == 0) return {};
  return fmt::format("{} of {} waves run code without probes for this: build with {}", without,
                     summary.waves,
                     needs == probe::Needs::kBlocks ? "rochound probe build --blocks -- ..."
                                                    : "rochound probe build -- ..., not --blocks");
}

// What tells the answers of several analyzers apart.
std::string Heading(const std::string& analyzer, probe::AnswerFormat format, bool first) {
  if (format == probe::AnswerFormat::kJsonLines) return probe::JsonText({{"analyzer", analyzer}});
  return fmt::format("{}{}\n{:-<{}}\n", first ? "" : "\n", analyzer, "", analyzer.size());
}

void PrintMachineCounts(const std::string& analyzer, const probe::MachineView::Counts& counts) {
  if (counts.made == counts.asked && counts.scalar + counts.one_lane + counts.unmatched == 0)
    return;
  base::LogInfo(fmt::format(
      "{}: counted as the machine code without probes does them: {} accesses, of which {} by the "
      "scalar unit and {} by one lane for all{}",
      analyzer, counts.made, counts.scalar, counts.one_lane,
      counts.unmatched != 0
          ? fmt::format("; {} of {} are not matched with instructions, and counted as asked for",
                        counts.unmatched, counts.asked)
          : ""));
}

void PrintLosses(const probe::StreamSummary& summary, bool verbose) {
  if (summary.dropped != 0)
    base::LogWarning(
        fmt::format("{} messages were dropped, since the ring was full. A larger "
                    "--buffer holds more; without --drop kernels wait for room.",
                    summary.dropped));
  if (summary.unwritten != 0)
    base::LogWarning(fmt::format("{} messages could not be written to disk", summary.unwritten));
  if (summary.unfinished != 0)
    base::LogWarning(fmt::format("{} bytes of messages were not finished by their waves",
                                 summary.unfinished * sizeof(uint64_t)));
  if (summary.not_understood != 0)
    base::LogWarning(
        fmt::format("{} messages belong to waves that are not known", summary.not_understood));
  if (summary.fault) base::LogWarning("a GPU failed; what was sent before is here");
  if (summary.without_end != 0 || summary.cut_off)
    base::LogWarning("a process was killed; its last messages may be missing");
  constexpr size_t kShown = 10;
  size_t shown = 0;
  for (const probe::UnprobedSite& site : summary.unprobed) {
    if (!verbose && shown++ == kShown) {
      base::LogWarning(fmt::format("and {} more places without a probe; -v names all",
                                   summary.unprobed.size() - kShown));
      break;
    }
    base::LogWarning(fmt::format("no probe: {} in {}, {}", site.why,
                                 codeobj::Demangle(site.function), Place(site.at)));
  }
}

}  // namespace

const char* ProbeCommand::examples() const { return kProbeExamples; }

ProbeCommand::ProbeCommand(CLI::App& app)
    : Command(app.add_subcommand("probe", "See each access to memory that kernels make")) {
  UsageFormatter::Set(*subcommand_,
                      "rochound probe [OPTIONS] -- PROGRAM [ARGUMENTS]\n"
                      "       rochound probe build [--blocks] -- hipcc [ARGUMENTS]\n"
                      "       rochound probe hsaco FILE... -o FOLDER [--blocks]\n"
                      "       rochound probe read FOLDER [OPTIONS]");
  const auto option = [&](const char* name, auto& value, const char* type,
                          const char* description) {
    return subcommand_->add_option(name, value, description)
        ->type_name(type)
        ->allow_extra_args(false);
  };
  option("action", action_, "",
         "build: compile with probes; read: what --keep has kept;\n"
         "hsaco: put probes into kernels that came with their bitcode");
  subcommand_->add_option("operands", operands_, "read: the folder; hsaco: files with bitcode")
      ->type_name("");
  option("-k,--kernel", kernel_, "REGEX", "Only kernels whose symbol or C++ name has a match");
  option("-d,--dispatches", dispatches_, "all|first|N|random:P",
         "Which dispatches: all, the first or first N of each kernel, or by\n"
         "chance this share of them (random:0.1)");
  option("-a,--analyzer", analyzers_, "NAME[,NAME...]", AnalyzerHelp().c_str())->delimiter(',');
  option("--analyzer-limit", analyzer_limit_, "10m",
         "How long an analyzer from a library may take before it is ended");
  option("-l,--log-location,-o,--output", output_, "FILE|-", "Where to (default: -, stdout)");
  option("-t,--log-format", format_, "jsonl|csv",
         "Default: by FILE's ending, else a table, of messages jsonl; csv is for messages")
      ->check(CLI::IsMember({"jsonl", "json", "csv"}));
  subcommand_->add_flag("--json", json_, "The same as -t jsonl");
  subcommand_->add_flag("--machine", machine_,
                        "Accesses as the machine code makes them without probes: joined, split,\n"
                        "scalar. -a memory and -a heatmap do that by themselves");
  subcommand_->add_flag("--no-machine", no_machine_,
                        "Accesses as the optimised code asks for them");
  option("--code", code_, "FILE",
         "-a report: the program, or a code object, built without probes and with -g:\n"
         "all instructions of its kernels are shown beside their source");
  option("--svg", svg_, "FILE", "Draw the heat map into this file (-a heatmap)");
  option("--keep", keep_, "FOLDER",
         "Keep what the kernels have sent; rochound probe read reads it");
  option("--buffer", buffer_, "16MiB", "Memory for messages in flight");
  subcommand_->add_flag("--drop", drop_,
                        "Drop and count messages when that is full; otherwise kernels wait");
  option("--lanes", lanes_, "MASK", "Only these lanes; a hexadecimal mask, lane 0 is bit 0");
  option("--filter-x", groups_[0], "N|N:M", "Only workgroups N, or N to M-1, in x");
  option("--filter-y", groups_[1], "N|N:M", "The same in y");
  option("--filter-z", groups_[2], "N|N:M", "The same in z");
  option("--softgpu", softgpu_, "GPU[,GPU...]", "Run on software GPUs (see rochound softgpu)");
  subcommand_->add_flag("--blocks", blocks_,
                        "build: probes of basic blocks and branches instead of accesses");
  option("-c,--cache-location", cache_, "FOLDER|triton",
         "Swap in the kernels of this folder, as run --kernel-cache does;\n"
         "probe hsaco makes them");
  option("--target", target_, "gfx942", "hsaco: the GPU of bitcode that does not name one");
  option("--clang", clang_, "FILE", "hsaco: which compiler (default: ROCm's)");
  subcommand_->add_flag("-i,--instrumented,!--no-instrumented", instrumented_,
                        "Default. --no-instrumented: record without probes, as rochound run does");
  subcommand_->add_flag("-e,--env-dump", print_environment_,
                        "Print the variables that are set for the program");
  subcommand_->add_flag("-v,--verbose", verbose_, "Name every place without a probe");
}

std::string ProbeCommand::Problem() const {
  if (const auto filter = store::Filter::Create(kernel_, ""); !filter.ok())
    return "-k: " + filter.error().message;
  if (SampleOf(dispatches_) == 0)
    return fmt::format(
        "-d: '{}' is neither all, first, a number, nor random:P with a share such as 0.1",
        dispatches_);
  for (const std::string& analyzer : analyzers_)
    if (!probe::IsPluginName(analyzer) && probe::FindAnalyzer(analyzer) == nullptr)
      return fmt::format("-a: there is no analyzer '{}'; there are {}, and any library.so",
                         analyzer, AnalyzerNames());
  if (!cache_.empty())
    if (const std::string problem = swap::WhyNotTrusted(swap::KernelCacheDirectory(cache_));
        !problem.empty())
      return "-c: " + problem;
  bool draws = false;
  for (const std::string& analyzer : analyzers_) {
    const probe::AnalyzerKind& kind = Kind(analyzer);
    draws = draws || kind.draws;
    if (kind.table && format_ == "csv")
      return fmt::format("-t: -a {} writes a table or jsonl", kind.name);
    // What a lane that is left out has written would count as not written.
    if (!lanes_.empty() && std::string_view(kind.name) == "uninit")
      return "-a uninit needs the messages of all lanes, without --lanes";
  }
  std::error_code error;
  if (!code_.empty() && std::none_of(analyzers_.begin(), analyzers_.end(),
                                     [](const std::string& one) { return one == "report"; }))
    return "--code goes with -a report";
  if (!code_.empty() && !fs::is_regular_file(code_, error))
    return fmt::format("--code: '{}' is no file", code_);
  if (!svg_.empty() && !draws) return "--svg draws what -a heatmap answers";
  if (machine_ && no_machine_) return "either --machine or --no-machine";
  if (!base::ParseTime(analyzer_limit_))
    return fmt::format("--analyzer-limit: '{}' is no time, such as 10m", analyzer_limit_);
  if (!buffer_.empty() && !base::ParseSize(buffer_))
    return fmt::format("--buffer: '{}' is no size, such as 16MiB", buffer_);
  static const std::regex kMask("(0x)?[0-9a-fA-F]{1,16}");
  if (!lanes_.empty() &&
      (!std::regex_match(lanes_, kMask) || strtoull(lanes_.c_str(), nullptr, 16) == 0))
    return fmt::format("--lanes: '{}' is no mask of lanes, such as ffff", lanes_);
  for (int i = 0; i < 3; ++i)
    if (!groups_[i].empty() && !IsRange(groups_[i]))
      return fmt::format("--filter-{}: '{}' is neither a number nor a range such as 0:4", "xyz"[i],
                         groups_[i]);
  return {};
}

int ProbeCommand::Build(const std::vector<std::string>& command) const {
  if (command.empty())
    return Usage("no compiler given; example: rochound probe build -- hipcc app.hip -o app");
  const auto plugin =
      base::FindBesideExecutable(blocks_ ? kBlockPlugin : kPlugin, "the compiler's plugin");
  if (!plugin.ok()) {
    base::LogError(plugin.error().message);
    return base::kExitSetup;
  }
  // Lines are named by debug information, which changes no instruction.
  const std::vector<std::string> added = {"-Xarch_device",
                                          "-fpass-plugin=" + plugin.value().string(),
                                          "-Xarch_device", "-gline-tables-only"};
  const bool rdc = std::find(command.begin(), command.end(), "-fgpu-rdc") != command.end();
  std::vector<std::string> all = command;
  launch::Environment environment = launch::CurrentEnvironment();
  if (IsCompiler(command[0])) {
    all.insert(all.end(), added.begin(), added.end());
    // Bitcode is linked by lld, which instruments it then.
    if (rdc) {
      all.emplace_back("-Xoffload-linker");
      all.push_back("--load-pass-plugin=" + plugin.value().string());
    }
  } else {
    // A build system: hipcc reads it wherever it is started.
    std::string& flags = environment["HIPCC_COMPILE_FLAGS_APPEND"];
    for (const std::string& flag : added) flags += (flags.empty() ? "" : " ") + flag;
  }
  int error_number = 0;
  auto child = launch::ChildProcess::Start(all, launch::Lines(environment), &error_number);
  if (!child.ok()) return launch::CannotStart(child.error(), error_number);
  launch::ChildProcess::EndLike(child.value().Wait());
}

int ProbeCommand::MakeObjects() const {
  if (operands_.empty()) return Usage("which files? rochound probe hsaco FILE... -o FOLDER");
  if (output_.empty()) return Usage("-o names the folder for the kernels");
  const auto plugin =
      base::FindBesideExecutable(blocks_ ? kBlockPlugin : kPlugin, "the compiler's plugin");
  if (!plugin.ok()) {
    base::LogError(plugin.error().message);
    return base::kExitSetup;
  }
  return MakeProbedObjects({operands_, output_, plugin.value(), target_, clang_});
}

int ProbeCommand::RunUnprobed(const std::vector<std::string>& program) const {
  std::vector<std::string> all = {"/proc/self/exe", "run"};
  const auto hand_on = [&](const char* option, const std::string& value) {
    if (!value.empty()) all.insert(all.end(), {option, value});
  };
  hand_on("--kernel", kernel_);
  hand_on("--kernel-cache", cache_);
  hand_on("--output", output_ == "-" ? "" : output_);
  hand_on("--softgpu", softgpu_);
  all.emplace_back("--");
  all.insert(all.end(), program.begin(), program.end());
  base::LogInfo("without probes, as rochound run does it");
  int error_number = 0;
  auto child =
      launch::ChildProcess::Start(all, launch::Lines(launch::CurrentEnvironment()), &error_number);
  if (!child.ok()) return launch::CannotStart(child.error(), error_number);
  launch::ChildProcess::EndLike(child.value().Wait());
}

const probe::AnalyzerKind& ProbeCommand::Kind(const std::string& analyzer) {
  static constexpr probe::AnalyzerKind kPluginKind = {
      "a library",       "",     "", /*table=*/true, probe::Needs::kAny, /*draws=*/false,
      /*machine=*/false, nullptr};
  return probe::IsPluginName(analyzer) ? kPluginKind : *probe::FindAnalyzer(analyzer);
}

std::string ProbeCommand::OutputOf(const std::string& analyzer) const {
  if (output_.empty() || output_ == "-") return "-";
  if (analyzers_.size() == 1) return output_;
  const fs::path path(output_);
  const std::string name =
      probe::IsPluginName(analyzer) ? fs::path(analyzer).stem().string() : Kind(analyzer).name;
  return path.parent_path() / (path.stem().string() + "." + name + path.extension().string());
}

bool ProbeCommand::AsMachine(const std::string& analyzer) const {
  return !no_machine_ && (machine_ || Kind(analyzer).machine);
}

probe::AnswerFormat ProbeCommand::Format(const std::string& analyzer) const {
  const std::string ending = fs::path(output_).extension();
  const bool table = Kind(analyzer).table;
  if (format_ == "csv" || (format_.empty() && !json_ && !table && ending == ".csv"))
    return probe::AnswerFormat::kCsv;
  if (json_ || !format_.empty() || !table || ending == ".jsonl" || ending == ".json")
    return probe::AnswerFormat::kJsonLines;
  return probe::AnswerFormat::kTable;
}

int ProbeCommand::Apart(const std::string& analyzer, const std::function<int()>& work,
                        uint64_t limit_ns) {
  const auto code = launch::WorkApart(work, std::chrono::nanoseconds(limit_ns));
  if (code.ok()) return code.value();
  base::LogError(fmt::format("the analyzer '{}' {}", analyzer, code.error().message));
  return base::kExitSetup;
}

int ProbeCommand::Read(const fs::path& folder) const {
  int result = base::kExitSuccess;
  bool first = true;
  for (const std::string& analyzer : analyzers_) {
    const auto work = [&] { return ReadHere(folder, analyzer, first); };
    std::fflush(stdout);
    const int code = probe::IsPluginName(analyzer)
                         ? Apart(analyzer, work, base::ParseTime(analyzer_limit_).value_or(0))
                         : work();
    if (result == base::kExitSuccess) result = code;
    first = false;
  }
  return result;
}

int ProbeCommand::ReadHere(const fs::path& folder, const std::string& name, bool first) const {
  const std::string output = OutputOf(name);
  const bool to_stdout = output == "-";
  const probe::AnswerFormat format = Format(name);
  std::FILE* const out = to_stdout ? stdout : std::fopen(output.c_str(), "we");
  if (out == nullptr) {
    base::LogError(base::ErrnoError("cannot write", output, errno).message);
    return base::kExitSetup;
  }
  if (to_stdout && analyzers_.size() > 1) fmt::print(out, "{}", Heading(name, format, first));
  const auto filter = store::Filter::Create(kernel_, "");
  const uint64_t first_dispatches = FirstDispatches(dispatches_);
  std::map<std::string, uint64_t> dispatches;  // of each kernel, so far
  const auto choose = [&](const std::string& symbol) {
    if (!kernel_.empty() && !filter.value().KeepsKernel(symbol) &&
        !filter.value().KeepsKernel(codeobj::Demangle(symbol)))
      return false;
    return first_dispatches == 0 || dispatches[symbol]++ < first_dispatches;
  };
  std::unique_ptr<probe::Analyzer> analyzer;
  const probe::Plugin* plugin = nullptr;
  if (probe::IsPluginName(name)) {
    auto loaded = probe::LoadPlugin(name, {out, format});
    if (!loaded.ok()) {
      base::LogError(loaded.error().message);
      return base::kExitSetup;
    }
    plugin = loaded.value().get();
    analyzer = std::move(loaded).value();
  } else {
    analyzer = Kind(name).make({out, format, code_});
  }
  probe::MachineView machine(analyzer.get());
  const auto summary = probe::ReadStreams(
      folder, choose, AsMachine(name) ? static_cast<probe::Receiver*>(&machine) : analyzer.get());
  // Of what was not looked at an analyzer would say that it is in order.
  const probe::Needs needs = plugin != nullptr                     ? plugin->needs()
                             : format == probe::AnswerFormat::kCsv ? probe::Needs::kAccesses
                                                                   : Kind(name).needs;
  const std::string lacks = summary.ok() ? LackOfProbes(needs, summary.value()) : "";
  Result<void> drawn;
  const bool lacks_all = !lacks.empty() && LacksAll(needs, summary.value());
  if (summary.ok() && summary.value().dispatches != 0 && !lacks_all) {
    std::string answer = analyzer->Answer(summary.value());
    // Kernels and source files are named by whoever built them.
    if (format == probe::AnswerFormat::kTable) answer = base::Printable(answer, "\n\t");
    std::fwrite(answer.data(), 1, answer.size(), out);
    if (!svg_.empty() && Kind(name).draws)
      drawn = base::WriteFileAtomically(svg_, analyzer->Picture());
  }
  const bool written = std::fflush(out) == 0 && std::ferror(out) == 0;
  if (!to_stdout) std::fclose(out);
  if (!summary.ok()) {
    if (first) base::LogError(summary.error().message);
    return base::kExitSetup;
  }
  if (!written) {
    base::LogError(fmt::format("'{}' could not be written", to_stdout ? "stdout" : output));
    return base::kExitSetup;
  }
  if (!drawn.ok()) {
    base::LogError(drawn.error().message);
    return base::kExitSetup;
  }
  const probe::StreamSummary& all = summary.value();
  if (all.processes == 0) {
    if (first)
      base::LogError(
          cache_.empty()
              ? "no instrumented kernel was loaded; build the program with rochound "
                "probe build -- hipcc ..."
              : "no instrumented kernel was loaded. Why none was swapped in: rochound run "
                "--kernel-cache, then rochound explain swaps");
    return base::kExitSetup;
  }
  if (first) PrintLosses(all, verbose_);
  if (all.dispatches == 0) {
    if (first)
      base::LogError(kernel_.empty()
                         ? "no instrumented kernel was launched, or the filters left none"
                         : fmt::format("no instrumented kernel that was launched has a name "
                                       "with a match of '{}'",
                                       kernel_));
    return base::kExitSetup;
  }
  if (lacks_all) {
    base::LogError(lacks);
    return base::kExitSetup;
  }
  if (!lacks.empty()) base::LogWarning(lacks);
  if (plugin != nullptr && plugin->failed()) {
    base::LogError(fmt::format("the analyzer '{}' has no answer", name));
    return base::kExitSetup;
  }
  if (AsMachine(name)) PrintMachineCounts(name, machine.counts());
  if (!first) return base::kExitSuccess;
  base::LogInfo(fmt::format(
      "{} accesses by {} waves in {} dispatches{}{}{}", all.accesses, all.waves, all.dispatches,
      all.values != 0 ? fmt::format(", {} messages with values", all.values) : "",
      all.blocks != 0 ? fmt::format(", {} basic blocks", all.blocks) : "",
      all.barriers != 0 ? fmt::format(", {} arrivals at barriers", all.barriers) : ""));
  return base::kExitSuccess;
}

void ProbeCommand::SetProbing(const fs::path& folder, launch::Environment* environment) const {
  launch::Environment& variables = *environment;
  variables[contract::variables::kProbeDir] = folder.string();
  variables[contract::variables::kProbeKernel] = kernel_;
  variables[contract::variables::kProbeMode] = drop_ ? "drop" : "throttle";
  variables[contract::variables::kProbeLanes] = lanes_;
  variables[contract::variables::kProbeSample] = std::to_string(SampleOf(dispatches_));
  variables[contract::variables::kProbeBytes] =
      buffer_.empty() ? "" : std::to_string(base::ParseSize(buffer_).value_or(0));
  constexpr const char* kGroups[] = {contract::variables::kProbeGroupsX,
                                     contract::variables::kProbeGroupsY,
                                     contract::variables::kProbeGroupsZ};
  for (int i = 0; i < 3; ++i) {
    const char* const theirs = getenv(fmt::format("DH_COMMS_GROUP_FILTER_{}", "XYZ"[i]).c_str());
    std::string& ours = variables[kGroups[i]];
    ours = groups_[i];
    if (ours.empty() && theirs != nullptr && IsRange(theirs)) ours = theirs;
  }
  variables[contract::variables::kProbeWrites] =
      std::any_of(
          analyzers_.begin(), analyzers_.end(),
          [](const std::string& one) { return std::string_view(Kind(one).name) == "uninit"; })
          ? "1"
          : "";
  // Nothing is recorded beside the messages.
  variables[contract::variables::kStart] = "off";
}

int ProbeCommand::RunProbed(const std::vector<std::string>& program) {
  const auto command = launch::OnSoftwareGpu(softgpu_, program);
  if (!command.ok()) return Usage(command.error().message);
  launch::Recording recording;
  launch::Environment environment = launch::CurrentEnvironment();
  const fs::path beside =
      output_.empty() || output_ == "-" ? fs::path("rochound-probe") : fs::path(output_);
  const auto prepared = launch::PrepareLog("", beside, &recording);
  if (!prepared.ok()) {
    base::LogError(prepared.error().message);
    return base::kExitSetup;
  }
  const auto remove_log = [&] {
    std::error_code ignored;
    fs::remove_all(recording.log_directory, ignored);
  };
  std::error_code error;
  const fs::path folder = keep_.empty() ? recording.log_directory / "probe" : fs::absolute(keep_);
  fs::create_directories(folder, error);
  if (error) {
    remove_log();
    base::LogError(base::ErrnoError("cannot make the folder", folder, error.value()).message);
    return base::kExitSetup;
  }
  std::optional<swap::KernelCache> cache;
  if (!cache_.empty()) {
    auto opened = swap::KernelCache::Open({swap::KernelCacheDirectory(cache_), kernel_, false},
                                          recording.log_directory / "kernel-cache");
    if (!opened.ok()) {
      remove_log();
      base::LogError(opened.error().message);
      return base::kExitSetup;
    }
    cache.emplace(std::move(opened).value());
    recording.swap_list = cache->list();
  }
  const auto look_at_cache = [&]() -> std::chrono::milliseconds {
    if (!cache) return std::chrono::hours(1);
    const std::chrono::milliseconds next = cache->Look();
    for (const std::string& remark : cache->TakeRemarks()) base::LogWarning(remark);
    return next;
  };
  look_at_cache();
  for (const std::string& remark : launch::SetRecording(recording, &environment))
    base::LogWarning(remark);
  SetProbing(folder, &environment);
  if (print_environment_) PrintChanges(environment);
  int error_number = 0;
  auto child =
      launch::ChildProcess::Start(command.value(), launch::Lines(environment), &error_number);
  if (!child.ok()) {
    remove_log();
    return launch::CannotStart(child.error(), error_number);
  }
  launch::GpuUse gpu_use(recording.agent, recording.log_directory);
  const int status = child.value().Wait(
      [&] { return std::min(gpu_use.Look(child.value().pid()), look_at_cache()); });
  int code = base::kExitSetup;
  if (!IsLogFolder(recording.log_directory))
    base::LogError("no messages: " + launch::WhyNothing(program, status, gpu_use.Unrecorded()));
  else
    code = Read(folder);
  remove_log();
  launch::ChildProcess::EndLike(status == 0 ? code << 8 : status);
}

// What omniprobe and logduration take from the environment; options come first.
void ProbeCommand::TakeTheirVariables() {
  const auto take = [](const char* name, std::string* option) {
    const char* const value = getenv(name);
    if (option->empty() && value != nullptr) *option = value;
  };
  take("LOGDUR_FILTER", &kernel_);
  take("LOGDUR_DISPATCHES", &dispatches_);
  if (dispatches_.empty()) dispatches_ = "all";
  std::string handlers;
  take("LOGDUR_HANDLERS", &handlers);
  if (analyzers_.empty())
    for (size_t at = 0; at < handlers.size();) {
      const size_t end = std::min(handlers.find(',', at), handlers.size());
      if (end != at) analyzers_.push_back(handlers.substr(at, end - at));
      at = end + 1;
    }
  if (analyzers_.empty()) analyzers_ = {"messages"};
  if (!json_) take("LOGDUR_LOG_FORMAT", &format_);
  take("LOGDUR_LOG_LOCATION", &output_);
  if (output_ == "console") output_ = "-";
  const char* const instrumented = getenv("LOGDUR_INSTRUMENTED");
  if (subcommand_->count("--instrumented") == 0 && instrumented != nullptr &&
      std::string_view(instrumented) == "false")
    instrumented_ = false;
  take("LOGDUR_KERNEL_CACHE", &cache_);
  if (getenv("LOGDUR_LIBRARY_FILTER") != nullptr)
    base::LogWarning(
        "LOGDUR_LIBRARY_FILTER means nothing here: what was built with probes is seen");
}

int ProbeCommand::Run(const std::vector<std::string>& program) {
  if (action_ == "build") return Build(program);
  if (action_ == "hsaco") return MakeObjects();
  TakeTheirVariables();
  if (const std::string problem = Problem(); !problem.empty()) return Usage(problem);
  // A library that cannot be used is reported before a program runs for it.
  for (const std::string& analyzer : analyzers_) {
    if (!probe::IsPluginName(analyzer)) continue;
    const int code = Apart(
        analyzer,
        [&] {
          const auto checked = probe::CheckPlugin(analyzer);
          return checked.ok() ? base::kExitSuccess : Usage("-a: " + checked.error().message);
        },
        kLoadLimitNs);
    if (code != base::kExitSuccess) return code;
  }
  if (action_ == "read") {
    if (operands_.size() != 1) return Usage("which folder? rochound probe read FOLDER");
    return Read(operands_[0]);
  }
  if (!instrumented_ && !program.empty()) return RunUnprobed(program);
  if (!action_.empty())
    return Usage(fmt::format("put -- before the program: rochound probe [OPTIONS] -- {}", action_));
  if (program.empty()) return Usage("no program given; example: rochound probe -- ./app");
  return RunProbed(program);
}

}  // namespace rochound::cli
