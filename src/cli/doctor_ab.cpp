// SPDX-License-Identifier: MIT
#include "cli/doctor_ab.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/log.h"
#include "base/progress_bar.h"
#include "base/terminal.h"
#include "cli/usage_formatter.h"
#include "doctor/ask_machine.h"
#include "doctor/libraries.h"
#include "doctor/outcome.h"
#include "doctor/profile.h"
#include "doctor/settings.h"
#include "doctor/variables.h"
#include "launch/limited_run.h"
#include "launch/run_environment.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using doctor::Setting;

constexpr int kExitSomeHelp = 1;
constexpr int kExitNoneHelps = 3;

int Usage(const std::string& problem, const char* command) {
  base::LogError(problem);
  base::LogInfo(fmt::format("See rochound doctor {} --help.", command));
  return base::kExitUsage;
}

doctor::Machine MachineFromFiles() {
  doctor::Asking asking;
  asking.runtimes = false;
  return doctor::AskMachine(asking);
}

base::Result<std::vector<Setting>> Settings(const std::string& file,
                                            const doctor::Machine& machine) {
  if (file.empty()) return BuiltInSettings(machine);
  ROCHOUND_TRY(const std::string text, base::ReadFile(file));
  auto settings = doctor::ParseSettings(text);
  if (!settings.ok()) return settings.error().In(file);
  return settings;
}

// Variables of these settings that no runtime library here reads. PyTorch's own are not judged:
// which torch a program brings is not known.
std::set<std::string> Unread(const std::vector<Setting>& settings, const doctor::Machine& machine) {
  doctor::Machine asked = machine;
  asked.environment.clear();
  for (const Setting& setting : settings)
    for (const auto& [name, value] : setting.variables)
      if (value) asked.environment[name] = *value;
  const doctor::Loader loader(machine.root, machine.environment);
  std::vector<std::string> libraries;
  for (const auto& library : FindInstalled(machine.root, loader, {}))
    libraries.push_back(library.path);
  doctor::Report report;
  JudgeVariables(asked, libraries, &report);
  std::set<std::string> unread;
  for (const doctor::Finding& finding : report.findings)
    if (finding.id == "dead-variable")
      unread.insert(finding.what.substr(0, finding.what.find('=')));
  return unread;
}

doctor::Attempt ToAttempt(launch::LimitedRun run) {
  return {run.timed_out ? -1 : run.exit_code,
          run.timed_out ? 0 : run.signal,
          run.timed_out,
          run.seconds,
          std::move(run.out),
          std::move(run.err)};
}

// A name that can be a file's.
std::string FileName(const std::string& name) {
  std::string file = name;
  for (char& c : file)
    if (isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
  return file;
}

base::Result<void> KeepFiles(const fs::path& folder, const doctor::Row& row) {
  std::error_code error;
  fs::create_directories(folder, error);
  for (size_t i = 0; i < row.attempts.size(); ++i) {
    const std::string name = fmt::format("{}.{}", FileName(row.setting.name), i + 1);
    ROCHOUND_CHECK(base::WriteFile(folder / (name + ".out"), row.attempts[i].out));
    ROCHOUND_CHECK(base::WriteFile(folder / (name + ".err"), row.attempts[i].err));
  }
  return {};
}

}  // namespace

constexpr const char* kAbExamples = R"(
Examples:
  rochound doctor ab -- ./train
  rochound doctor ab --limit 60 --repeat 3 -- python3 train.py
  rochound doctor ab --list                     what would be tried
  rochound doctor ab --matrix mine.txt --json -- ./train

Each setting is tried in a process of its own, which is killed when its time is
up; nothing is changed but that process's environment. A matrix is a text file:

  # name: VARIABLE=value ... (-VARIABLE takes one out)
  no-sdma: HSA_ENABLE_SDMA=0
  quiet: HSA_USE_SVM=0 -HSA_XNACK

A setting that seems to make a difference is tried again, in turn with the program
as it is, until the difference is more than chance. A program that fails by chance
gets no advice.

Exit codes: 0 the program works as it is, 1 only with some setting, 2 wrong usage,
3 with none or by chance, 125 it could not be tried, 126 or 127 it cannot be started.
)";

const char* DoctorAb::examples() const { return kAbExamples; }

DoctorAb::DoctorAb(CLI::App& doctor)
    : subcommand_(doctor.add_subcommand("ab", "Try a program under different settings")) {
  UsageFormatter::Set(*subcommand_, "rochound doctor ab [OPTIONS] -- PROGRAM [ARGUMENTS]");
  subcommand_->add_option("--matrix", matrix_, "Settings to try (default: a built-in set)")
      ->type_name("FILE");
  subcommand_->add_option("--limit", limit_, "Seconds that each run may take (default: 300)")
      ->type_name("S")
      ->check(CLI::Range(0.1, 86400.0));
  subcommand_->add_option("--repeat", repeat_, "Runs per setting, for what fails now and then")
      ->type_name("N")
      ->check(CLI::Range(1u, 1000u));
  subcommand_
      ->add_option("--confirm", confirm_,
                   "Further runs of a setting that seems to make a difference (default: at most 8)")
      ->type_name("N")
      ->check(CLI::Range(0u, 1000u));
  subcommand_->add_option("--keep", keep_, "Keep what each run wrote, in this folder")
      ->type_name("FOLDER");
  subcommand_->add_flag("--list", list_, "Show the settings and run nothing");
  subcommand_->add_flag("--json", json_, "The table as JSON");
  subcommand_->add_option("stray", stray_)->group("");  // only to say what is wrong with it
}

bool DoctorAb::Confirm(std::vector<doctor::Row>* rows,
                       const std::function<bool(doctor::Row*)>& attempt) const {
  for (unsigned round = 0; round < confirm_; ++round) {
    const bool works = rows->front().works();
    std::vector<size_t> open;
    for (size_t i = 1; i < rows->size(); ++i) {
      const doctor::Row& row = (*rows)[i];
      // A setting that may help, or that may harm, and has not been proved to.
      const bool seems = works ? !row.works() : row.works();
      if (seems && !Helps(*rows, i) && !Harms(*rows, i)) open.push_back(i);
    }
    if (open.empty()) return true;
    if (!attempt(&rows->front())) return false;
    for (const size_t i : open)
      if (!attempt(&(*rows)[i])) return false;
  }
  return true;
}

int DoctorAb::Run(const std::vector<std::string>& program) {
  if (!stray_.empty())
    return Usage(fmt::format("put -- before the program: rochound doctor ab -- {}", stray_[0]),
                 "ab");
  const doctor::Machine machine = MachineFromFiles();
  const auto settings = Settings(matrix_, machine);
  if (!settings.ok()) return Usage(settings.error().message, "ab");
  if (list_) {
    for (const Setting& setting : settings.value())
      fmt::print("{:<18} {:<45} {}\n", setting.name, setting.Text(), setting.about);
    return base::kExitSuccess;
  }
  if (program.empty())
    return Usage("no program given; example: rochound doctor ab -- ./train", "ab");

  const std::set<std::string> unread = Unread(settings.value(), machine);
  std::vector<doctor::Row> rows;
  base::ProgressBar bar("");
  double done = 0;
  int problem = base::kExitSuccess;
  const auto limit = std::chrono::milliseconds(static_cast<int64_t>(limit_ * 1000));
  const auto attempt = [&](doctor::Row* row) {
    doctor::Environment environment = machine.environment;
    row->setting.ApplyTo(&environment);
    auto run = launch::RunLimited(program, launch::Lines(environment), limit,
                                  [&](const launch::LimitedRun& /*so_far*/) {
                                    bar.Show(done);
                                    return true;
                                  });
    if (!run.ok()) {
      base::LogError(run.error().message);
      problem = access(program[0].c_str(), F_OK) == 0 ? base::kExitCannotRun : base::kExitNotFound;
      return false;
    }
    row->attempts.push_back(ToAttempt(std::move(run).value()));
    return true;
  };
  for (const Setting& setting : settings.value()) {
    doctor::Row row{setting, {}, {}};
    for (const auto& [name, value] : setting.variables)
      if (unread.contains(name)) row.unread.push_back(name);
    bar.set_what(
        fmt::format("{} ({} of {})", setting.name, rows.size() + 1, settings.value().size()));
    for (unsigned i = 0; i < repeat_; ++i) {
      done = static_cast<double>(rows.size() * repeat_ + i) /
             static_cast<double>(settings.value().size() * repeat_);
      if (!attempt(&row)) return problem;
    }
    rows.push_back(std::move(row));
  }
  bar.set_what("again, to tell a difference from chance");
  if (!Confirm(&rows, attempt)) return problem;
  for (const doctor::Row& row : rows) {
    if (keep_.empty()) break;
    if (const auto kept = KeepFiles(keep_, row); !kept.ok()) base::LogWarning(kept.error().message);
  }
  const doctor::Conclusion conclusion = Conclude(rows);
  doctor::BootAdvice boot;
  if (conclusion == doctor::Conclusion::kNoneHelps && !machine.kfd.empty())
    boot = AdviseBootParameters(machine);
  if (json_) {
    using Json = nlohmann::ordered_json;
    fmt::print("{}\n", ToJson(rows, boot).dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{}", ToText(rows, boot, base::TerminalWidth()));
  }
  if (conclusion == doctor::Conclusion::kWorks) return base::kExitSuccess;
  return conclusion == doctor::Conclusion::kSomeHelp ? kExitSomeHelp : kExitNoneHelps;
}

constexpr const char* kProfileExamples = R"(
Examples:
  rochound doctor apply no-sdma                 shows what would be written, and where
  rochound doctor apply no-sdma --yes           writes it
  rochound doctor apply no-sdma --to ./gpu.sh --yes    for a shell: . ./gpu.sh
  rochound doctor undo no-sdma --yes            removes it, and what was made with it

Profiles are the settings of rochound doctor ab --list, or of a --matrix file.
They go to ~/.config/environment.d, which the next login reads. Nobody else's
file is changed; a profile that was edited by hand is not removed. Kernel
parameters are never touched.

Exit codes: 0 done, or shown; 1 it could not be done; 2 wrong usage.
)";

const char* DoctorProfile::examples() const { return kProfileExamples; }

DoctorProfile::DoctorProfile(CLI::App& doctor)
    : apply_(doctor.add_subcommand("apply", "Keep a setting for every program (shows it first)")),
      undo_(doctor.add_subcommand("undo", "Remove a setting that was kept (shows it first)")) {
  UsageFormatter::Set(*apply_, "rochound doctor apply [OPTIONS] PROFILE");
  UsageFormatter::Set(*undo_, "rochound doctor undo [OPTIONS] PROFILE");
  for (CLI::App* command : {apply_, undo_}) {
    command->add_option("PROFILE", name_, "Name of the setting")->required();
    command
        ->add_option("--to", to_,
                     "The file, instead of one in ~/.config/environment.d; one that ends in .sh is "
                     "written for a shell")
        ->type_name("FILE");
    command->add_flag("--yes", yes_, "Do it; without it, only show what would be done");
  }
  apply_->add_option("--matrix", matrix_, "Take the setting from this file")->type_name("FILE");
}

std::string DoctorProfile::Place() const {
  std::error_code error;
  if (!to_.empty()) return fs::absolute(to_, error).lexically_normal().string();
  const char* config = getenv("XDG_CONFIG_HOME");
  const char* home = getenv("HOME");
  const fs::path folder = config != nullptr && *config == '/' ? fs::path(config)
                          : home != nullptr                   ? fs::path(home) / ".config"
                                                              : fs::path();
  if (folder.empty()) return {};
  return doctor::ProfilePlace(folder, FileName(name_)).string();
}

int DoctorProfile::ApplyProfile() const {
  const auto settings = Settings(matrix_, MachineFromFiles());
  if (!settings.ok()) return Usage(settings.error().message, "apply");
  const Setting* chosen = nullptr;
  for (const Setting& setting : settings.value())
    if (setting.name == name_) chosen = &setting;
  if (chosen == nullptr)
    return Usage(
        fmt::format("there is no setting '{}'; rochound doctor ab --list shows them", name_),
        "apply");
  const auto change = doctor::PlanApply(*chosen, Place());
  if (!change.ok()) {
    base::LogError(change.error().message);
    return base::kExitFailure;
  }
  const std::string file = change.value().file.string();
  if (change.value().nothing) {
    fmt::print("{} has it already.\n", file);
    return base::kExitSuccess;
  }
  for (const fs::path& folder : change.value().folders)
    if (!fs::exists(folder)) fmt::print("make  {}\n", folder.string());
  fmt::print("write {}\n", file);
  if (!yes_) {
    fmt::print("\n{}\nNothing was done yet; --yes does it.\n", change.value().content);
    return base::kExitSuccess;
  }
  if (const auto done = doctor::Apply(change.value()); !done.ok()) {
    base::LogError(done.error().message);
    return base::kExitFailure;
  }
  const bool shell = change.value().file.extension() == ".sh";
  const std::string word = doctor::ShellWord(file);
  fmt::print("{}\n", shell ? fmt::format("For a shell: . {}", word)
                           : fmt::format("It holds from the next login on; for this shell: set -a; "
                                         ". {}; set +a",
                                         word));
  fmt::print("rochound doctor undo {}{} --yes removes it.\n", doctor::ShellWord(name_),
             to_.empty() ? "" : " --to " + doctor::ShellWord(to_));
  return base::kExitSuccess;
}

int DoctorProfile::UndoProfile() const {
  const auto change = doctor::PlanUndo(Place());
  if (!change.ok()) {
    base::LogError(change.error().message);
    return base::kExitFailure;
  }
  const std::string file = change.value().file.string();
  if (change.value().nothing) {
    base::LogError(fmt::format("there is no '{}'; nothing to undo", file));
    return base::kExitFailure;
  }
  fmt::print("remove {}\n", file);
  for (auto folder = change.value().folders.rbegin(); folder != change.value().folders.rend();
       ++folder)
    fmt::print("remove {} if nothing else is in it\n", folder->string());
  if (!yes_) {
    fmt::print("Nothing was done yet; --yes does it.\n");
    return base::kExitSuccess;
  }
  if (const auto done = doctor::Undo(change.value()); !done.ok()) {
    base::LogError(done.error().message);
    return base::kExitFailure;
  }
  return base::kExitSuccess;
}

int DoctorProfile::Run() {
  const char* command = apply_->parsed() ? "apply" : "undo";
  if (Place().empty())
    return Usage("neither HOME nor XDG_CONFIG_HOME is set; name the file with --to", command);
  return apply_->parsed() ? ApplyProfile() : UndoProfile();
}

}  // namespace rochound::cli
