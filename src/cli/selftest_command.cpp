// SPDX-License-Identifier: MIT
#include "cli/selftest_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/progress_bar.h"
#include "cli/selftest_steps.h"
#include "cli/usage_formatter.h"
#include "doctor/hardware_report.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using Json = nlohmann::ordered_json;

constexpr const char* kSelftestExamples = R"(
Examples:
  rochound selftest                          on the GPU that is here, some minutes
  rochound selftest vector_add atomics       these programs only
  rochound selftest --report my-card.json    one file for us: shown first, then kept
  rochound selftest --baseline my-card.json  only what is not as it was then
  rochound selftest --softgpu mi300x         on a software GPU

Each program computes something on the GPU and checks it itself (runs), is then
recorded, and the trace compared with what it counted (recorded), and one of its
launches is captured and run again at its own addresses, every byte compared
(replayed). On the software GPU all of that was seen to work; here is what this GPU
does: same, different (with what was seen), or not possible here.

A report has what the doctor knows about the machine's GPUs, the versions of driver
and runtimes, and the outcome of each step; nothing about you.
docs/hardware-reports.md says what becomes of it.

Exit codes: 0 all the same or not possible, 1 differences, 2 wrong usage,
125 there is no GPU, or there are no test programs: they come with rochound if it was
built with hipcc.
)";

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSame:
      return "same";
    case Outcome::kDifferent:
      return "different";
    case Outcome::kNotPossible:
      return "not possible here";
  }
  return "";
}

void PrintResults(const std::string& name, const std::vector<StepResult>& results) {
  std::string line = fmt::format("{:24}", name);
  std::string why;
  for (const StepResult& result : results) {
    line += fmt::format(" {}: {};", result.step, OutcomeName(result.outcome));
    if (!result.why.empty()) why += fmt::format("    {}\n", result.why);
  }
  line.back() = '\n';
  fmt::print("{}{}", line, why);
  fflush(stdout);
}

bool GpuIsHere() {
  const int driver = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  if (driver >= 0) close(driver);
  return driver >= 0;
}

Json AsJson(const std::string& name, const std::vector<StepResult>& results) {
  Json steps = Json::array();
  for (const StepResult& result : results)
    steps.push_back(
        {{"step", result.step}, {"outcome", OutcomeName(result.outcome)}, {"why", result.why}});
  return {{"program", name}, {"steps", std::move(steps)}};
}

}  // namespace

const char* SelftestCommand::examples() const { return kSelftestExamples; }

SelftestCommand::SelftestCommand(CLI::App& app)
    : Command(
          app.add_subcommand("selftest", "Compare the GPU that is here with the software GPU")) {
  UsageFormatter::Set(*subcommand_, "rochound selftest [OPTIONS] [PROGRAM...]");
  subcommand_->add_option("programs", names_, "Only these (default: all)")->type_name("PROGRAM");
  subcommand_->add_option("--folder", folder_, "Test programs (default: those that came with us)")
      ->type_name("FOLDER");
  subcommand_->add_option("--softgpu", softgpu_, "Run on a software GPU (see rochound softgpu)")
      ->type_name("GPU");
  subcommand_->add_option("--limit", limit_, "Seconds for each step (default: 120)")
      ->type_name("S")
      ->check(CLI::Range(1.0, 86400.0));
  subcommand_->add_flag("--list", list_, "Name the programs, run none");
  subcommand_->add_flag("--json", json_, "Everything, as JSON");
  subcommand_
      ->add_option("--report", report_,
                   "Put the machine's facts and all outcomes into one file, to attach to an issue")
      ->type_name("FILE");
  subcommand_->add_flag("--yes", yes_, "With --report: keep it without asking");
  subcommand_
      ->add_option("--baseline", baseline_,
                   "Differences are those to this report, not to the software GPU")
      ->type_name("FILE");
}

std::string SelftestCommand::Problem() const {
  std::error_code error;
  if (report_.empty()) return yes_ ? "--yes goes with --report" : "";
  if (json_) return "--report writes JSON; leave out --json";
  if (fs::exists(report_, error)) return fmt::format("there is a '{}' already", report_);
  if (!yes_ && isatty(STDIN_FILENO) == 0)
    return "--report asks whether to keep what it shows; where there is no terminal, add --yes";
  return "";
}

int SelftestCommand::Report(const fs::path& rochound, const fs::path& scratch,
                            const Json& steps) const {
  const auto text = doctor::MakeHardwareReport({rochound, scratch, softgpu_}, steps);
  if (!text.ok()) {
    base::LogError(text.error().message);
    return base::kExitSetup;
  }
  fmt::print("\n{}\n", text.value());
  fflush(stdout);
  if (!yes_) {
    fmt::print(stderr, "Keep this in '{}'? [y/N] ", report_);
    std::string answer;
    std::getline(std::cin, answer);
    if (answer != "y" && answer != "Y" && answer != "yes") {
      base::LogInfo("nothing was kept");
      return base::kExitSuccess;
    }
  }
  const auto written = base::WriteFileAtomically(report_, text.value());
  if (!written.ok()) {
    base::LogError(written.error().message);
    return base::kExitSetup;
  }
  base::LogInfo(fmt::format("'{}' is what you were shown; attach it to an issue", report_));
  return base::kExitSuccess;
}

Result<std::vector<fs::path>> SelftestCommand::Programs() const {
  fs::path folder = folder_;
  if (folder.empty()) {
    ROCHOUND_TRY(folder,
                 base::FindBesideExecutable("../share/rochound/selftest", "the test programs"));
  }
  std::vector<fs::path> programs;
  std::error_code error;
  if (names_.empty()) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
      // Beside them may be what they load.
      if (entry.is_regular_file(error) && access(entry.path().c_str(), X_OK) == 0)
        programs.push_back(entry.path());
  } else {
    for (const std::string& name : names_) {
      if (!fs::is_regular_file(folder / name, error))
        return Error{
            fmt::format("there is no test program '{}'; see rochound selftest --list", name)};
      programs.push_back(folder / name);
    }
  }
  if (programs.empty())
    return Error{fmt::format("there are no test programs in '{}'; they are built with hipcc",
                             folder.string())};
  std::sort(programs.begin(), programs.end());
  return programs;
}

int SelftestCommand::Run(const std::vector<std::string>&) {
  if (const std::string problem = Problem(); !problem.empty()) return Usage(problem);
  doctor::Outcomes before;
  if (!baseline_.empty()) {
    auto read = doctor::ReadOutcomes(baseline_);
    if (!read.ok()) return Usage("--baseline: " + read.error().message);
    before = std::move(read).value();
  }
  const auto programs = Programs();
  const auto self = base::ExecutablePath();
  if (!programs.ok() || !self.ok()) {
    base::LogError((!programs.ok() ? programs.error() : self.error()).message);
    return base::kExitSetup;
  }
  if (list_) {
    for (const fs::path& program : programs.value())
      fmt::print("{}\n", program.filename().string());
    return base::kExitSuccess;
  }
  if (softgpu_.empty() && !GpuIsHere()) {
    base::LogError(
        "there is no GPU here: /dev/kfd cannot be opened. rochound doctor says why; "
        "--softgpu mi300x tests on a software GPU");
    return base::kExitSetup;
  }
  const auto scratch = base::TempDir::Create(fs::temp_directory_path(), "rochound-selftest-");
  if (!scratch.ok()) {
    base::LogError(scratch.error().message);
    return base::kExitSetup;
  }
  Json all = Json::array();
  int different = 0;
  base::ProgressBar bar("selftest");
  double done = 0;
  for (const fs::path& program : programs.value()) {
    const std::string name = program.filename().string();
    SelftestSettings settings;
    settings.rochound = self.value();
    settings.scratch = scratch.value().path();
    settings.softgpu = softgpu_;
    settings.limit = std::chrono::milliseconds(static_cast<int64_t>(limit_ * 1000));
    settings.progress = [&](const std::string& step) {
      bar.set_what(name + ", " + step);
      bar.Show(done / static_cast<double>(programs.value().size()));
    };
    std::vector<StepResult> results = Selftest(program, settings);
    for (StepResult& result : results) {
      const auto was = before.find(name + " " + result.step);
      if (was == before.end()) {
        different += result.outcome == Outcome::kDifferent ? 1 : 0;
      } else if (was->second != OutcomeName(result.outcome)) {
        different += 1;
        result.why =
            fmt::format("was: {}{}{}", was->second, result.why.empty() ? "" : "; ", result.why);
      }
    }
    all.push_back(AsJson(name, results));
    if (!json_) PrintResults(name, results);
    done += 1;
  }
  if (json_)
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
  else
    fmt::print("{} programs, {} differences\n", programs.value().size(), different);
  if (!report_.empty()) {
    const int code = Report(self.value(), scratch.value().path(), all);
    if (code != base::kExitSuccess) return code;
  }
  return different == 0 ? base::kExitSuccess : base::kExitFailure;
}

}  // namespace rochound::cli
