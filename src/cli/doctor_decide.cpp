// SPDX-License-Identifier: MIT
#include "cli/doctor_decide.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/log.h"
#include "cli/usage_formatter.h"
#include "doctor/fault/explain.h"
#include "launch/limited_run.h"
#include "launch/run_environment.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kExitNotDecided = 1;
constexpr int kExitDecided = 3;

}  // namespace

constexpr const char* kDecideExamples = R"(
Examples:
  rochound doctor decide -- ./train
  rochound doctor decide --limit 60 --json -- ./train

The program is recorded once more, with AMD_SERIALIZE_KERNEL=3 and
AMD_SERIALIZE_COPY=3: each kernel waits for the one before it, so that one kernel at
most is in flight when the GPU fails. A program whose kernels wait for one another
does not end that way; its time is limited.

Exit codes: 0 it did not fail, 1 it failed and that decides nothing or its time was up,
2 wrong usage, 3 it failed and the kernel is named.
)";

const char* DoctorDecide::examples() const { return kDecideExamples; }

DoctorDecide::DoctorDecide(CLI::App& doctor)
    : subcommand_(doctor.add_subcommand("decide", "Find out which of several kernels failed")) {
  UsageFormatter::Set(*subcommand_, "rochound doctor decide [OPTIONS] -- PROGRAM [ARGUMENTS]");
  subcommand_->add_option("-o,--output", output_, "Keep the trace and the evidence (FILE.fault)")
      ->type_name("FILE");
  subcommand_->add_option("--limit", limit_, "Seconds that the run may take (default: 600)")
      ->type_name("S")
      ->check(CLI::Range(0.1, 86400.0));
  subcommand_->add_flag("--json", json_, "The explanation as JSON");
  subcommand_->add_option("stray", stray_)->group("");  // only to say what is wrong with it
}

int DoctorDecide::Run(const std::vector<std::string>& program) {
  if (!stray_.empty() || program.empty()) {
    base::LogError(
        program.empty() && stray_.empty()
            ? "no program given; example: rochound doctor decide -- ./train"
            : fmt::format("put -- before the program: rochound doctor decide -- {}", stray_[0]));
    return base::kExitUsage;
  }
  const auto self = base::ExecutablePath();
  const auto scratch = base::TempDir::Create(fs::temp_directory_path(), "rochound-decide-");
  if (!self.ok() || !scratch.ok()) {
    base::LogError((!self.ok() ? self.error() : scratch.error()).message);
    return base::kExitSetup;
  }
  const std::string trace =
      output_.empty() ? (scratch.value().path() / "trace.rpd").string() : output_;
  launch::Environment environment = launch::CurrentEnvironment();
  environment["AMD_SERIALIZE_KERNEL"] = "3";
  environment["AMD_SERIALIZE_COPY"] = "3";
  std::vector<std::string> command = {self.value().string(), "run", "-q", "-o", trace, "--"};
  command.insert(command.end(), program.begin(), program.end());
  const auto limit = std::chrono::milliseconds(static_cast<int64_t>(limit_ * 1000));
  const auto run = launch::RunLimited(command, launch::Lines(environment), limit);
  if (!run.ok()) {
    base::LogError(run.error().message);
    return base::kExitSetup;
  }
  std::error_code error;
  const fs::path evidence = trace + ".fault";
  if (run.value().timed_out) {
    fmt::print(
        "With one kernel at a time the program did not end within {:.0f} s: its kernels wait for "
        "one another, or for the host. Nothing is decided.\n",
        limit_);
    return kExitNotDecided;
  }
  if (!fs::is_directory(evidence, error)) {
    fmt::print(
        "With one kernel at a time no GPU failed (the program {}). It fails only when kernels run "
        "at the same time: look for a wait that is missing between streams, or before memory is "
        "freed.\n",
        run.value().End());
    return base::kExitSuccess;
  }
  const auto explained = doctor::ExplainFault(evidence);
  if (!explained.ok()) {
    base::LogError(explained.error().message);
    return base::kExitSetup;
  }
  fmt::print("{}", json_ ? FaultJson(explained.value()) : FaultText(explained.value()));
  return explained.value().kernel_sure ? kExitDecided : kExitNotDecided;
}

}  // namespace rochound::cli
