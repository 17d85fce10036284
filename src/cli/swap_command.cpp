// SPDX-License-Identifier: MIT
#include "cli/swap_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/log.h"
#include "cli/usage_formatter.h"
#include "swap/swap_check.h"

namespace rochound::cli {
namespace {

constexpr const char* kSwapExamples = R"(
Examples:
  rochound swap check ./app better.hsaco                    what could be swapped
  rochound swap check ./app better.hsaco --gpu gfx942:xnack-  on this GPU
  rochound run --kernel-cache . -- ./app                    swap them

Each kernel of CANDIDATE is compared with the one of the same symbol in ORIGINAL: arguments,
hidden arguments, target and variables must fit. Both files may be code objects, offload
bundles (compressed or not), programs or libraries.

Exit codes: 0 all of them fit, 1 some do not, 2 wrong command line, 125 a file cannot be read.
)";

}  // namespace

const char* SwapCommand::examples() const { return kSwapExamples; }

SwapCommand::SwapCommand(CLI::App& app)
    : Command(app.add_subcommand("swap", "Say which kernels could be swapped, and why not")) {
  UsageFormatter::Set(*subcommand_, "rochound swap check ORIGINAL CANDIDATE [OPTIONS]");
  const auto option = [&](const char* name, std::string& value, const char* type,
                          const char* description) {
    subcommand_->add_option(name, value, description)->type_name(type)->allow_extra_args(false);
  };
  option("action", action_, "", "check");
  option("original", original_, "",
         "The program, library or code object with the kernels as they are");
  option("candidate", candidate_, "", "The file with those that are to take their place");
  option("--gpu", gpu_, "TARGET", "What they are to run on, such as gfx942:sramecc+:xnack-");
  subcommand_->add_flag("--json", json_, "For programs");
}

int SwapCommand::Run(const std::vector<std::string>& /*program*/) {
  if (action_ != "check" || original_.empty() || candidate_.empty())
    return Usage("which files? For example: rochound swap check ./app better.hsaco");
  std::optional<codeobj::Target> gpu;
  if (!gpu_.empty()) {
    auto parsed = codeobj::ParseTarget(gpu_);
    if (!parsed.ok()) return Usage("--gpu: " + parsed.error().message);
    gpu = std::move(parsed).value();
  }
  const auto answers = [&]() -> base::Result<std::vector<swap::SwapAnswer>> {
    ROCHOUND_TRY(const std::string original, base::ReadFile(original_));
    ROCHOUND_TRY(const std::string candidate, base::ReadFile(candidate_));
    return swap::CheckSwaps(original, candidate, gpu);
  }();
  if (!answers.ok()) {
    base::LogError(answers.error().message);
    return base::kExitSetup;
  }
  if (json_)
    fmt::print("{}\n", swap::SwapAnswersJson(answers.value())
                           .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  else
    fmt::print("{}", swap::SwapAnswersText(answers.value()));
  const auto& all = answers.value();
  const bool fit = std::all_of(all.begin(), all.end(), [](const auto& one) { return one.fits; });
  return fit ? base::kExitSuccess : base::kExitFailure;
}

}  // namespace rochound::cli
