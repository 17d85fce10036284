// SPDX-License-Identifier: MIT
#include "cli/replay_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/progress_bar.h"
#include "capture/bundle.h"
#include "capture/export.h"
#include "capture/replay/verdict.h"
#include "cli/usage_formatter.h"
#include "launch/replay_poison.h"
#include "launch/replay_process.h"
#include "report/replay_text.h"
#include "softgpu/tree/gpu_model.h"

namespace rochound::cli {
namespace {

using capture::replay::Verdict;
using nlohmann::ordered_json;

constexpr const char* kReplayExamples = R"(
Examples:
  rochound replay check add.bundle             can its addresses be had here?
  rochound replay run add.bundle               run it, and compare the result
  rochound replay run add.bundle --iterations 100 --json
  rochound replay run add.bundle --hsaco new.hsaco --verify tol=1e-5,1e-8
  rochound replay compare add.bundle a.hsaco b.hsaco --iterations 50
  rochound replay export add.bundle -o project   source and data, without rochound

The launch runs in a fresh process, with memory at the addresses that it had in the
captured program, as it was before the launch; afterwards all of it is compared with
what it was after the captured one. Memory is brought back before each iteration
unless --no-restore says otherwise; then only the first result is verified.

A kernel must write its result, not find it: memory that the captured code writes
without reading it is filled with a pattern, and another build has to leave the same of
it as the captured code, byte by byte. The same is done for the captured code if its
launch changed nothing. To find such memory, the captured code is run from memory that
makes no sense to it, in a process of its own; a fault or a hang there is not shown.
--no-poison leaves all that out. Where a kernel that does nothing could not be told from
a right one, the answer is 'not verified'.

--hsaco takes whatever has the kernel in it: a code object, what hipcc --genco makes,
or a program. Name and arguments must be those of the captured kernel.

compare runs all builds and the captured one in one process, in turns and in another
order each round. The speed-up is that of median GPU times; its interval holds 95% of
what other choices of the same rounds give. A build that faults or hangs is left out,
and the others are run again without it.

'not deterministic' is code that does not give the same result twice from the same
memory. If the captured code is such (floating-point atomics, for example), it and the
other build run ten times each, by turns. An element whose values in the one and in
the other do not meet is wrong, and the build 'different'; a floating-point element may
miss by as much as the captured code's own results differ in that argument.

--verify tol=float:1e-5,1e-8;half:1e-2 gives each type its own tolerance; other types are
compared bit by bit. compare --vary N runs the captured code and the other builds from N
other inputs, too: floating elements in another order and with other mantissas, and other
bytes where results are to be written; all must leave the same. --vary-integers also
changes integers, to any value between the least and the greatest one (range) or to values
that are there (values): the captured code has to bear it. --vary-special adds NaN,
infinities, and in exact comparisons the largest and smallest numbers. run --inputs KIND
runs the captured code from such inputs and compares nothing. compare --count adds, on
a software GPU, what each build did (docs/softgpu-counters.md).

Exit codes: 0 equal, 1 different, 2 wrong usage, 3 not deterministic, 4 the kernel
faulted, 5 it did not end, 6 the addresses cannot be had, 7 the bundle is damaged,
8 refused (another GPU, or other arguments), 9 not verified (also with --verify none),
10 not possible with this release of ROCm, 125 replay itself did not work. compare: that
of the captured build, then of the first build that is not equal; what is wrong goes
before 3 and 9.
)";

constexpr const char* kReplayActions[] = {"check", "run", "compare", "export"};
constexpr const char* kFloatingTypes[] = {"float", "double", "half", "bf16"};
const std::vector<std::string> kElementTypes = {"float", "double", "half",  "bf16",
                                                "int8",  "uint8",  "int16", "uint16",
                                                "int32", "uint32", "int64", "uint64"};
constexpr uint64_t kCompareRounds = 20;

bool IsFloatingType(const std::string& name) {
  return std::find(std::begin(kFloatingTypes), std::end(kFloatingTypes), name) !=
         std::end(kFloatingTypes);
}

// "1e-5,1e-8"
bool Numbers(const std::string& text, std::string* relative, std::string* absolute) {
  const size_t comma = text.find(',');
  *relative = text.substr(0, comma);
  *absolute = comma == std::string::npos ? "0" : text.substr(comma + 1);
  for (const std::string* number : {relative, absolute}) {
    char* end = nullptr;
    const double value = strtod(number->c_str(), &end);
    if (number->empty() || *end != '\0' || !(value >= 0)) return false;
  }
  return true;
}

}  // namespace

const char* ReplayCommand::examples() const { return kReplayExamples; }

std::vector<Command::Action> ReplayCommand::actions() const {
  return {
      {"check",
       "rochound replay check BUNDLE [OPTIONS]",
       "Say whether the bundle's addresses can be had here. Nothing is run.",
       {"bundle", "--softgpu", "--json"}},
      {"run",
       "rochound replay run BUNDLE [OPTIONS]",
       "Run the captured launch at its own addresses, and compare the result.",
       {"bundle", "--iterations", "--hsaco", "--verify", "--as", "--timeout", "--show", "--inputs",
        "--softgpu", "--no-restore", "--no-poison", "--json"}},
      {"compare",
       "rochound replay compare BUNDLE BUILD... [OPTIONS]",
       "Run other builds of the kernel and the captured one by turns; compare results and times.",
       {"bundle", "builds", "--iterations", "--warmup", "--verify", "--as", "--timeout", "--show",
        "--vary", "--vary-integers", "--vary-special", "--count", "--dump", "--softgpu",
        "--no-restore", "--no-poison", "--json"}},
      {"export",
       "rochound replay export BUNDLE [-o FOLDER] [--json]",
       "Make a project of the bundle: source, data and CMakeLists.txt. It needs no rochound.",
       {"bundle", "--output", "--json"}},
  };
}

ReplayCommand::ReplayCommand(CLI::App& app)
    : Command(app.add_subcommand("replay", "Run a captured launch again, and compare")) {
  UsageFormatter::Set(*subcommand_, "rochound replay ACTION BUNDLE [BUILD...] [OPTIONS]");
  subcommand_->add_option("action", action_, "check, run, compare or export")->type_name("ACTION");
  subcommand_->add_option("bundle", bundle_, "What rochound capture made")->type_name("BUNDLE");
  subcommand_->add_option("builds", builds_, "compare: other builds of the kernel")
      ->type_name("BUILD...");
  const auto option = [&](const char* name, auto& value, const char* type,
                          const char* description) {
    return subcommand_->add_option(name, value, description)
        ->type_name(type)
        ->allow_extra_args(false);
  };
  option("--iterations", iterations_, "N", "How often (default: run once, compare 20 rounds)")
      ->check(CLI::PositiveNumber);
  option("--warmup", warmup_, "N", "compare: rounds before those that count (default: 3)");
  option("--hsaco", hsaco_, "FILE", "run: another build of the kernel");
  option("--verify", verify_, "exact|tol=REL[,ABS]|none", "How to judge (default: exact)");
  option("--as", as_, "float|...|int32|...",
         "What memory holds where no argument tells: float, double, half, bf16, int8 to uint64")
      ->check(CLI::IsMember(kElementTypes));
  option("--timeout", timeout_, "SECONDS", "How long a launch may take (default: 60)")
      ->check(CLI::PositiveNumber);
  option("--show", show_, "N", "How many differences to show (default: 10)");
  option("--vary", vary_, "N", "compare: try so many other inputs, too (default: none)");
  option("--vary-integers", vary_integers_, "range|values", "compare: with --vary, integers, too")
      ->check(CLI::IsMember({"range", "values"}));
  subcommand_->add_flag("--vary-special", vary_special_, "compare: with --vary, NaN and the like");
  option("--inputs", inputs_, "range|values|special", "run: from other inputs, without comparing")
      ->check(CLI::IsMember({"floats", "range", "values", "special"}));
  option("--dump", dump_, "FOLDER",
         "compare: write what the captured code and the first build left");
  option("--softgpu", softgpu_, "GPU[,GPU...]", "Run on software GPUs (see rochound softgpu)");
  option("-o,--output", output_, "FOLDER", "export: the project's folder (default: BUNDLE.export)");
  subcommand_->add_flag("--no-restore", no_restore_, "Do not bring memory back in between");
  subcommand_->add_flag("--no-poison", no_poison_,
                        "Do not fill memory with a pattern to see writes");
  subcommand_->add_flag("--count", count_,
                        "compare: count what each build does, on a software GPU (--json)");
  subcommand_->add_flag("--json", json_, "Print the answer as JSON");
}

std::string ReplayCommand::Problem(const std::vector<std::string>& program) const {
  if (!program.empty()) return "replay starts no program: leave out what follows --";
  if (std::find(std::begin(kReplayActions), std::end(kReplayActions), action_) ==
      std::end(kReplayActions))
    return action_.empty() ? "what to do? rochound replay run BUNDLE"
                           : fmt::format("'{}' is none of check, run, compare, export", action_);
  if (bundle_.empty()) return fmt::format("which bundle? rochound replay {} BUNDLE", action_);
  if (action_ == "compare" && builds_.empty())
    return "compare with what? rochound replay compare BUNDLE new.hsaco";
  if (action_ != "compare" && !builds_.empty())
    return fmt::format("{} takes one bundle; another build goes with --hsaco {}", action_,
                       builds_[0]);
  if (action_ != "run" && !hsaco_.empty()) return "--hsaco goes with run";
  if (action_ != "export" && !output_.empty()) return "-o goes with export";
  if (action_ != "compare" && (vary_ != 0 || count_ || !dump_.empty()))
    return "--vary, --count and --dump go with compare";
  if (vary_ == 0 && (!vary_integers_.empty() || vary_special_))
    return "--vary-integers and --vary-special go with --vary N";
  if (action_ != "run" && !inputs_.empty()) return "--inputs goes with run";
  return {};
}

bool ReplayCommand::Arguments(std::vector<std::string>* arguments) const {
  *arguments = {action_, bundle_};
  const auto add = [&](const char* name, const std::string& value) {
    arguments->insert(arguments->end(), {name, value});
  };
  const uint64_t usual = action_ == "compare" ? kCompareRounds : 1;
  add("--iterations", std::to_string(iterations_ != 0 ? iterations_ : usual));
  add("--warmup", std::to_string(warmup_));
  add("--timeout", fmt::format("{}", timeout_));
  add("--show", std::to_string(show_));
  if (!as_.empty()) add("--as", as_);
  if (!hsaco_.empty()) add("--hsaco", hsaco_);
  if (vary_ != 0) add("--vary", std::to_string(vary_));
  if (!vary_integers_.empty()) add("--vary-integers", vary_integers_);
  if (vary_special_) arguments->push_back("--vary-special");
  if (!inputs_.empty()) add("--inputs", inputs_);
  if (!dump_.empty()) add("--dump", dump_);
  if (count_) arguments->push_back("--count");
  if (no_restore_) arguments->push_back("--no-restore");
  if (no_poison_) arguments->push_back("--no-poison");
  if (verify_ == "none") arguments->push_back("--no-verify");
  if (verify_ == "none" || verify_ == "exact") return true;
  if (!verify_.starts_with("tol=")) return false;
  std::string relative, absolute;
  const std::string tolerances = verify_.substr(4);
  if (tolerances.find(':') == std::string::npos) {
    if (!Numbers(tolerances, &relative, &absolute)) return false;
    add("--relative", relative);
    add("--absolute", absolute);
    return true;
  }
  for (size_t at = 0; at <= tolerances.size();) {
    const size_t end = std::min(tolerances.find(';', at), tolerances.size());
    const std::string one = tolerances.substr(at, end - at);
    const size_t colon = one.find(':');
    if (colon == std::string::npos || !IsFloatingType(one.substr(0, colon)) ||
        !Numbers(one.substr(colon + 1), &relative, &absolute))
      return false;
    add("--type-tolerance", one.substr(0, colon + 1) + relative + "," + absolute);
    at = end + 1;
  }
  return true;
}

int ReplayCommand::Run(const std::vector<std::string>& program) {
  if (const std::string problem = Problem(program); !problem.empty()) return Usage(problem);
  if (action_ == "export") return Export();
  std::vector<std::string> arguments;
  if (!Arguments(&arguments))
    return Usage(fmt::format(
        "--verify: '{}' is none of exact, none, tol=REL or tol=REL,ABS, such as tol=1e-5,1e-8, or "
        "tol=TYPE:REL,ABS;TYPE:REL, such as tol=float:1e-5;half:1e-2",
        verify_));
  if (NeedsPoison()) {
    const std::string ranges = launch::FindPoison(bundle_, softgpu_, timeout_);
    if (!ranges.empty()) arguments.insert(arguments.end(), {"--poison", ranges});
  }
  return action_ == "compare" ? Compare(arguments) : RunOnce(arguments);
}

int ReplayCommand::Export() const {
  const auto bundle = capture::Bundle::Open(bundle_);
  if (!bundle.ok()) {
    base::LogError(bundle.error().message);
    return ExitCode(Verdict::kBadBundle);
  }
  std::filesystem::path folder = output_;
  if (output_.empty()) {
    folder = std::filesystem::path(bundle_).lexically_normal();
    if (folder.filename().empty()) folder = folder.parent_path();  // "add.bundle/"
    folder += ".export";
  }
  base::Result<void> exported;
  {
    base::ProgressBar bar("exporting");
    exported = capture::Export(bundle.value(), folder, [&](uint64_t done, uint64_t all) {
      bar.Show(static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(all, 1)));
    });
  }
  if (!exported.ok()) {
    base::LogError(exported.error().message);
    return base::kExitSetup;
  }
  if (json_) {
    fmt::print("{}\n", ordered_json{{"action", action_}, {"folder", folder.string()}}.dump(2));
  } else {
    fmt::print("exported to '{}'. Next: cmake -B build -S '{}' && cmake --build build\n",
               folder.string(), folder.string());
  }
  return base::kExitSuccess;
}

// The captured code proves itself by what its launch changed, if that is anything.
bool ReplayCommand::NeedsPoison() const {
  if (verify_ == "none" || action_ == "check" || no_poison_) return false;
  if (action_ == "compare" || !hsaco_.empty()) return true;
  const auto bundle = capture::Bundle::Open(bundle_);
  return bundle.ok() && bundle.value().extents(capture::Phase::kAfter).empty();
}

// Where there is no GPU: a software GPU that can run the bundle's code, if there is one.
void ReplayCommand::SayWayWithoutGpu(ordered_json* answer) const {
  const std::string message = answer->value("message", "");
  if (launch::VerdictOf(*answer) != Verdict::kFailed || answer->contains("gpu")) return;
  const auto bundle = capture::Bundle::Open(bundle_);
  const auto known = softgpu::LoadKnownGpuModels();
  if (!bundle.ok() || !known.ok()) return;
  const capture::Manifest& manifest = bundle.value().manifest();
  const std::string& target = manifest.agents[static_cast<size_t>(manifest.agent)].name;
  std::string way = fmt::format("No software GPU is a {}, as the captured one.", target);
  for (const softgpu::GpuModel& model : known.value()) {
    if (model.target != target) continue;
    way = fmt::format("Without one: rochound replay {} {} ... --softgpu {}", action_, bundle_,
                      model.name);
    break;
  }
  (*answer)["message"] = fmt::format("{}{} {}", message, message.ends_with('?') ? "" : ".", way);
}

int ReplayCommand::RunOnce(const std::vector<std::string>& arguments) const {
  const auto result = launch::RunReplay(arguments, softgpu_);
  if (!result.ok()) {
    base::LogError(result.error().message);
    return base::kExitSetup;
  }
  ordered_json answer = result.value().answer;
  answer["action"] = action_;
  SayWayWithoutGpu(&answer);
  if (action_ == "check" && answer["verdict"] == "equal") {
    answer["verdict"] = "possible";  // nothing was run
    Print(answer);
    return base::kExitSuccess;
  }
  return Print(answer);
}

int ReplayCommand::Compare(const std::vector<std::string>& arguments) const {
  std::vector<std::string> builds = builds_;
  std::vector<ordered_json> fallen;
  for (;;) {
    std::vector<std::string> all = arguments;
    for (const std::string& build : builds) all.insert(all.end(), {"--hsaco", build});
    const auto result = launch::RunReplay(all, softgpu_);
    if (!result.ok()) {
      base::LogError(result.error().message);
      return base::kExitSetup;
    }
    ordered_json answer = result.value().answer;
    const std::string guilty = answer.value("candidate", "");
    const auto found = std::find(builds.begin(), builds.end(), guilty);
    if (!answer.contains("candidates") && found != builds.end()) {
      // The others have not deserved that.
      ordered_json entry = {{"name", guilty},
                            {"verdict", answer["verdict"]},
                            {"message", answer.value("message", "")}};
      if (answer.contains("fault")) entry["fault"] = answer["fault"];
      fallen.push_back(std::move(entry));
      builds.erase(found);
      continue;
    }
    answer["action"] = action_;
    SayWayWithoutGpu(&answer);
    answer["processes"] = fallen.size() + 1;
    if (answer.contains("candidates")) {
      auto& candidates = answer["candidates"];
      for (ordered_json& entry : fallen) candidates.push_back(std::move(entry));
      // As they were given, after the captured one.
      const auto place = [&](const ordered_json& entry) {
        return std::find(builds_.begin(), builds_.end(), entry.value("name", "")) - builds_.begin();
      };
      std::stable_sort(candidates.begin() + 1, candidates.end(),
                       [&](const ordered_json& one, const ordered_json& other) {
                         return place(one) < place(other);
                       });
      std::vector<Verdict> verdicts;
      for (const ordered_json& entry : candidates) verdicts.push_back(launch::VerdictOf(entry));
      answer["verdict"] = NameOf(capture::replay::Overall(verdicts));
    }
    return Print(answer);
  }
}

int ReplayCommand::Print(const ordered_json& answer) const {
  const Verdict verdict = launch::VerdictOf(answer);
  if (json_) {
    fmt::print("{}\n", answer.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{}", report::ReplayText(answer));
  }
  return ExitCode(verdict);
}

}  // namespace rochound::cli
