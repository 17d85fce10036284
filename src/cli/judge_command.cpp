// SPDX-License-Identifier: MIT
#include "cli/judge_command.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/installation.h"
#include "base/log.h"
#include "capture/bundle.h"
#include "cli/usage_formatter.h"
#include "profile/gpu_peaks.h"
#include "softgpu/tree/gpu_model.h"

namespace rochound::cli {
namespace {

using base::Result;

constexpr const char* kJudgeExamples = R"(
Examples:
  rochound judge add.bundle --candidate new.hsaco
  rochound judge small.bundle large.bundle --candidate new.hip --flags '-O3 -DTILE=16'
  rochound judge add.bundle --candidate new.hsaco --verify 'tol=float:1e-5,1e-8' --json
  rochound judge add.bundle --candidate new.hsaco --validate ./compare.py

A candidate is accepted if it can take the captured kernel's place, gives the same
results in every bundle and from other inputs, keeps to the memory that the captured
kernel uses, and is faster by the margin, with 95% confidence. Everything else is a
rejection with its reason; what could not be verified is one, too. docs/guides/optimize.md
has the reasons.

All runs are on a software GPU with the captured GPU's target; faster means fewer cycles
by a documented model of it (docs/softgpu-counters.md), which is no measurement of
silicon. With --on-gpu the candidate runs on this machine's GPU, too, and faster means
that GPU's own time stamps.

A candidate is untrusted: it is compiled and run in processes that have no network,
write no files but in a folder of their own, and have limits of time and memory.

--validate COMMAND is run by the shell with two folders as its last arguments, what the captured code
left and what the candidate left: outputs.json names the files. Its exit code 0 accepts.

Exit codes: 0 accepted, 1 rejected as wrong, 2 wrong usage, 3 right, but not faster,
4 not known (not verified, or it could not be judged), 125 the judge did not work.
)";

// Split at blanks; quotes keep what is between them.
std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool open = false;
  for (const char letter : text) {
    if (quote != 0 ? letter == quote : letter == '"' || letter == '\'') {
      quote = quote != 0 ? 0 : letter;
      open = true;
    } else if (quote == 0 && letter == ' ') {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += letter;
      open = true;
    }
  }
  if (open) words.push_back(std::move(word));
  return words;
}

}  // namespace

Result<optimize::JudgeTools> FindJudgeTools(const std::string& first_bundle,
                                            const std::string& softgpu) {
  optimize::JudgeTools tools;
  ROCHOUND_TRY(tools.rochound, base::ExecutablePath());
  if (auto hipcc = base::FindRocmProgram("hipcc"); hipcc.ok())
    tools.hipcc = std::move(hipcc).value();
  ROCHOUND_TRY(const std::vector<softgpu::GpuModel> known, softgpu::LoadKnownGpuModels());
  tools.softgpu = softgpu;
  if (softgpu.empty()) {
    ROCHOUND_TRY(const capture::Bundle bundle, capture::Bundle::Open(first_bundle));
    const capture::Manifest& manifest = bundle.manifest();
    if (manifest.agent < 0 || static_cast<size_t>(manifest.agent) >= manifest.agents.size())
      return base::Error{"the bundle does not say which GPU ran the launch"};
    const capture::Agent& agent = manifest.agents[static_cast<size_t>(manifest.agent)];
    for (const softgpu::GpuModel& model : known)
      if (model.target == agent.name &&
          (tools.softgpu.empty() || model.marketing_name == agent.product))
        tools.softgpu = model.name;
    if (tools.softgpu.empty())
      return base::Error{fmt::format(
          "no software GPU has the captured one's target, {}: see --softgpu", agent.name)};
  }
  ROCHOUND_TRY(const softgpu::GpuModel gpu, softgpu::PickGpuModel(tools.softgpu, known));
  tools.device = profile::DeviceOf(gpu);
  if (const auto architecture = profile::FindArchitecture(gpu.target); architecture.ok())
    tools.peaks = profile::PeaksOf(tools.device, architecture.value());
  return tools;
}

void JudgeSettings::AddTo(CLI::App* subcommand) {
  const auto option = [&](const char* name, auto& value, const char* type,
                          const char* description) {
    return subcommand->add_option(name, value, description)
        ->type_name(type)
        ->allow_extra_args(false);
  };
  option("--verify", options_.verify, "exact|tol=...",
         "How results are compared, as in rochound replay (default: exact)");
  option("--as", options_.as, "float|...|int32|...",
         "What memory holds where no argument tells: float, double, half, bf16, int8 to uint64")
      ->check(CLI::IsMember({"float", "double", "half", "bf16", "int8", "uint8", "int16", "uint16",
                             "int32", "uint32", "int64", "uint64"}));
  option("--reference", options_.reference, "FILE",
         "The kernel with more precision inside: with a tolerance, errors are compared by it");
  option("--validate", options_.validate, "COMMAND", "Ask this command about the results, too");
  option("--margin", margin_percent_, "PERCENT", "How much faster it has to be (default: 2)")
      ->check(CLI::NonNegativeNumber);
  option("--timeout", options_.timeout_seconds, "SECONDS",
         "How long a launch may take (default: 60, or 50 times the original's)")
      ->check(CLI::PositiveNumber);
  option("--rounds", options_.rounds, "N", "Launches of each by turns (default: 5)")
      ->check(CLI::PositiveNumber);
  option("--vary", options_.other_inputs, "N", "How many other inputs are tried (default: 2)");
  subcommand->add_flag("--no-special", no_special_,
                       "Do not try NaN, infinities, and the largest and smallest numbers");
  option("--flags", flags_, "FLAGS", "For the compiler (default: -O3)");
  option("--softgpu", softgpu_, "GPU", "The software GPU (default: one with the captured target)");
  subcommand->add_flag("--on-gpu", options_.on_gpu, "Measure on this machine's GPU");
}

std::string JudgeSettings::Problem() const {
  if (options_.verify == "none") return "--verify none proves nothing";
  if (!options_.reference.empty() && options_.verify == "exact")
    return "--reference goes with a tolerance (--verify tol=...)";
  return {};
}

optimize::JudgeOptions JudgeSettings::options() const {
  optimize::JudgeOptions options = options_;
  options.margin = margin_percent_ / 100;
  options.special = !no_special_;
  if (!flags_.empty()) options.flags.clear();
  for (const std::string& flags : flags_)
    for (std::string& word : Words(flags)) options.flags.push_back(std::move(word));
  return options;
}

const char* JudgeCommand::examples() const { return kJudgeExamples; }

JudgeCommand::JudgeCommand(CLI::App& app)
    : Command(app.add_subcommand("judge", "Say whether another kernel is equal and faster")) {
  UsageFormatter::Set(*subcommand_, "rochound judge BUNDLE... --candidate FILE [OPTIONS]");
  subcommand_->add_option("bundles", bundles_, "Captured launches of one kernel")
      ->type_name("BUNDLE...");
  subcommand_
      ->add_option("--candidate", candidate_, "A code object, or HIP source that is built twice")
      ->type_name("FILE")
      ->allow_extra_args(false);
  subcommand_
      ->add_option("--source", source_, "What the candidate was built from: it must give its code")
      ->type_name("FILE")
      ->allow_extra_args(false);
  settings_.AddTo(subcommand_);
  subcommand_->add_flag("--json", json_, "Print the verdict as JSON");
}

int JudgeCommand::Run(const std::vector<std::string>& program) {
  if (!program.empty()) return Usage("judge starts no program: leave out what follows --");
  if (bundles_.empty() || candidate_.empty())
    return Usage("what is judged? rochound judge BUNDLE... --candidate FILE");
  if (const std::string problem = settings_.Problem(); !problem.empty()) return Usage(problem);
  const auto verdict = [&]() -> Result<optimize::Verdict> {
    ROCHOUND_TRY(const optimize::JudgeTools tools,
                 FindJudgeTools(bundles_.front(), settings_.softgpu()));
    ROCHOUND_TRY(const auto judge, optimize::Judge::Open({bundles_.begin(), bundles_.end()},
                                                         settings_.options(), tools));
    return judge->JudgeFile(candidate_, source_);
  }();
  if (!verdict.ok()) {
    base::LogError(verdict.error().message);
    return base::kExitSetup;
  }
  if (json_)
    fmt::print("{}\n", optimize::VerdictJson(verdict.value())
                           .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  else
    fmt::print("{}", optimize::VerdictText(verdict.value()));
  return optimize::ExitCodeOf(verdict.value().reason);
}

}  // namespace rochound::cli
