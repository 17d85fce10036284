// SPDX-License-Identifier: MIT
#include "cli/selftest_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/files.h"
#include "base/log.h"
#include "cli/exit_codes.h"
#include "cli/installation.h"
#include "cli/progress_bar.h"
#include "cli/selftest_steps.h"
#include "cli/usage_formatter.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using Json = nlohmann::ordered_json;

constexpr const char* kExamples = R"(
Examples:
  rochound selftest                          on the GPU that is here, some minutes
  rochound selftest vector_add atomics       these programs only
  rochound selftest --json > my-card.json    to send to us
  rochound selftest --softgpu mi300x         on a software GPU

Each program computes something on the GPU and checks it itself (runs), is then
recorded, and the trace compared with what it counted (recorded), and one of its
launches is captured and run again at its own addresses, every byte compared
(replayed). On the software GPU all of that was seen to work; here is what this GPU
does: same, different (with what was seen), or not possible here.

Exit codes: 0 all the same or not possible, 1 differences, 2 wrong usage,
125 there is no GPU, or there are no test programs: they come with rochound if it was
built with hipcc.
)";

const char* Name(Outcome outcome) {
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

void Print(const std::string& name, const std::vector<StepResult>& results) {
  std::string line = fmt::format("{:24}", name);
  std::string why;
  for (const StepResult& result : results) {
    line += fmt::format(" {}: {};", result.step, Name(result.outcome));
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
        {{"step", result.step}, {"outcome", Name(result.outcome)}, {"why", result.why}});
  return {{"program", name}, {"steps", std::move(steps)}};
}

}  // namespace

const char* SelftestCommand::examples() const { return kExamples; }

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
}

Result<std::vector<fs::path>> SelftestCommand::Programs() const {
  fs::path folder = folder_;
  if (folder.empty()) {
    ROCHOUND_TRY(folder, FindBesideExecutable("../share/rochound/selftest", "the test programs"));
  }
  std::vector<fs::path> programs;
  std::error_code error;
  if (names_.empty()) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
      if (entry.is_regular_file(error)) programs.push_back(entry.path());
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
  const auto programs = Programs();
  const auto self = base::ExecutablePath();
  if (!programs.ok() || !self.ok()) {
    base::LogError((!programs.ok() ? programs.error() : self.error()).message);
    return kExitSetup;
  }
  if (list_) {
    for (const fs::path& program : programs.value())
      fmt::print("{}\n", program.filename().string());
    return kExitSuccess;
  }
  if (softgpu_.empty() && !GpuIsHere()) {
    base::LogError(
        "there is no GPU here: /dev/kfd cannot be opened. rochound doctor says why; "
        "--softgpu mi300x tests on a software GPU");
    return kExitSetup;
  }
  const auto scratch = base::TempDir::Create(fs::temp_directory_path(), "rochound-selftest-");
  if (!scratch.ok()) {
    base::LogError(scratch.error().message);
    return kExitSetup;
  }
  Json all = Json::array();
  int different = 0;
  ProgressBar bar("selftest");
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
    const std::vector<StepResult> results = Selftest(program, settings);
    different += static_cast<int>(std::count_if(
        results.begin(), results.end(),
        [](const StepResult& result) { return result.outcome == Outcome::kDifferent; }));
    if (json_)
      all.push_back(AsJson(name, results));
    else
      Print(name, results);
    done += 1;
  }
  if (json_)
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
  else
    fmt::print("{} programs, {} differences\n", programs.value().size(), different);
  return different == 0 ? kExitSuccess : kExitFailure;
}

}  // namespace rochound::cli
