// SPDX-License-Identifier: MIT
#include "cli/doctor_command.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/log.h"
#include "cli/ask_machine.h"
#include "cli/exit_codes.h"
#include "cli/usage_formatter.h"
#include "doctor/fault/explain.h"

namespace rochound::cli {
namespace {

// Severity as an exit code; 2 stays what it is everywhere, wrong usage.
constexpr int kExitWarnings = 1;
constexpr int kExitErrors = 3;

size_t TerminalWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
  return 100;
}

int ExitCode(doctor::Severity severity) {
  if (severity == doctor::Severity::kError) return kExitErrors;
  return severity == doctor::Severity::kWarning ? kExitWarnings : kExitSuccess;
}

}  // namespace

constexpr const char* kExamples = R"(
Examples:
  rochound doctor                           this machine, its GPUs and what is wrong
  rochound doctor --all                     every fact, every source
  rochound doctor --json | jq '.gpus[0].facts[] | select(.verdict == "wrong")'
  rochound softgpu --gpu rx6800xt -- rochound doctor
  rochound doctor --root ./copy             a copy of another machine's /sys, /proc, ...
  rochound doctor --fault trace.rpd.fault   why a GPU failed in a run that was recorded

Each fact is shown as every source tells it: KFD and DRM (the kernel driver's
files), HSA and HIP (asked in a process of their own, so that a broken runtime
harms nobody), amd-smi where it is installed, and AMD's specification (known).
Verdicts: agree; explained, where the sources differ and that is right; wrong;
unknown. docs/guides/doctor.md says more.

Exit codes: 0 nothing wrong (notes at most), 1 warnings, 2 wrong usage, 3 errors.
)";

const char* DoctorCommand::examples() const { return kExamples; }

DoctorCommand::DoctorCommand(CLI::App& app)
    : Command(app.add_subcommand("doctor", "Say what is wrong with this machine's GPU set-up")) {
  UsageFormatter::Set(*subcommand_, "rochound doctor [OPTIONS]");
  subcommand_->add_flag("--json", json_, "Everything, as JSON");
  subcommand_->add_flag("--all", all_, "Show all facts, also those that agree");
  subcommand_->add_option("--root", root_, "Look at a copy of a machine's files in this folder")
      ->type_name("FOLDER");
  subcommand_
      ->add_option("--limit", limit_, "Seconds that a runtime may take to answer (default: 20)")
      ->type_name("S")
      ->check(CLI::Range(0.1, 3600.0));
  subcommand_->add_flag("--files-only", files_only_, "Start no program, load no runtime");
  subcommand_
      ->add_option("--fault", fault_, "Explain why a GPU failed, from what rochound run kept")
      ->type_name("FOLDER");
  subcommand_->add_option("stray", stray_)->group("");  // only to say what is wrong with it
}

int DoctorCommand::Usage(const std::string& problem) const {
  base::LogError(problem);
  base::LogInfo("See rochound doctor --help.");
  return kExitUsage;
}

int DoctorCommand::Print(const doctor::Report& report) const {
  if (json_) {
    using Json = nlohmann::ordered_json;
    fmt::print("{}\n", ToJson(report).dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    const bool colour = isatty(STDOUT_FILENO) != 0 && getenv("NO_COLOR") == nullptr;
    fmt::print("{}", ToText(report, colour, TerminalWidth(), all_));
  }
  return ExitCode(report.Worst());
}

int DoctorCommand::ExplainFault() const {
  const auto explained = doctor::ExplainFault(fault_);
  if (!explained.ok()) {
    base::LogError(explained.error().message);
    return kExitSetup;
  }
  fmt::print("{}", json_ ? FaultJson(explained.value()) : FaultText(explained.value()));
  return kExitSuccess;
}

int DoctorCommand::Run(const std::vector<std::string>& program) {
  if (!stray_.empty()) return Usage(fmt::format("what is '{}'?", stray_[0]));
  if (!program.empty()) return Usage("looking at a program is not possible yet");
  if (!fault_.empty()) return ExplainFault();
  std::error_code error;
  if (!std::filesystem::is_directory(root_, error))
    return Usage(fmt::format("--root: there is no folder '{}'", root_));
  Asking asking;
  asking.root = root_;
  asking.runtimes = !files_only_;
  asking.limit = std::chrono::milliseconds(static_cast<int64_t>(limit_ * 1000));
  const doctor::Machine machine = AskMachine(asking);
  doctor::Report report;
  JudgeFacts(machine, &report);
  return Print(report);
}

}  // namespace rochound::cli
