// SPDX-License-Identifier: MIT
#include "cli/doctor_command.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/terminal.h"
#include "cli/trace_output.h"
#include "cli/usage_formatter.h"
#include "doctor/access.h"
#include "doctor/ask_machine.h"
#include "doctor/fault/explain.h"
#include "doctor/hardware_report.h"
#include "doctor/kernel_libraries.h"
#include "doctor/libraries.h"
#include "doctor/machine_copy.h"
#include "doctor/program.h"
#include "doctor/run/judge.h"
#include "doctor/variables.h"
#include "doctor/way_in.h"
#include "launch/control_client.h"
#include "launch/limited_run.h"
#include "launch/run_environment.h"
#include "launch/user_rights.h"

namespace rochound::cli {
namespace {

// Severity as an exit code; 2 stays what it is everywhere, wrong usage.
constexpr int kExitWarnings = 1;
constexpr int kExitErrors = 3;

// As the shell finds it; empty: nowhere.
std::string FindProgram(const std::string& name) {
  const std::string place = base::FindProgram(name);
  return access(place.c_str(), F_OK) == 0 && place.find('/') != std::string::npos ? place : "";
}

bool IsPython(const std::string& path) {
  return std::filesystem::path(path).filename().string().rfind("python", 0) == 0;
}

// Where this interpreter would import torch from; empty: nowhere. Finding it imports nothing.
base::Result<std::string> TorchFolder(const std::string& python,
                                      const std::vector<std::string>& environment) {
  constexpr const char* kQuestion =
      "import importlib.util as u; s = u.find_spec('torch'); "
      "print(s.submodule_search_locations[0] if s and s.submodule_search_locations else '')";
  ROCHOUND_TRY(
      const launch::LimitedRun run,
      launch::RunLimited({python, "-c", kQuestion}, environment, std::chrono::seconds(30)));
  if (!run.ok()) {
    return base::Error{fmt::format("{} {}; is it a Python 3?\n{}", python, run.End(), run.err)};
  }
  return run.out.substr(0, run.out.find('\n'));
}

// What is around the GPUs.
void JudgeSurroundings(const doctor::Machine& machine, doctor::Report* report) {
  JudgeDriver(machine, report);
  JudgeAccess(machine, doctor::ReadUser(machine.root), report);
  JudgeBootParameters(machine, report);
  const doctor::Loader loader(machine.root, machine.environment);
  JudgeLibraries(machine, loader, {}, report);
  JudgeKernelLibraries(machine, report);
  std::vector<std::string> runtimes;
  for (const doctor::InstalledLibrary& library : FindInstalled(machine.root, loader, {}))
    if (library.family.rfind("libdrm", 0) != 0 &&
        machine.root.Resolve(loader.Find(library.soname)) == library.path)
      runtimes.push_back(library.path);
  JudgeVariables(machine, runtimes, report);
}

// What rochound run kept beside the trace about GPUs that failed or hung.
void AddEvidence(const std::string& trace, doctor::Report* report) {
  std::error_code error;
  const std::string folder = trace + ".fault";
  if (!std::filesystem::is_directory(folder, error)) return;
  const auto explained = doctor::ExplainFault(folder);
  if (!explained.ok()) return;
  const bool hang = !explained.value().waiting.empty();
  report->findings.insert(
      report->findings.begin(),
      {explained.value().cause == "slow" ? doctor::Severity::kWarning : doctor::Severity::kError,
       hang ? "work-unfinished" : "gpu-failed",
       (explained.value().sure ? "" : "Probably: ") + explained.value().headline,
       fmt::format("rochound doctor --fault '{}' says more", folder), explained.value().evidence});
}

int ExitCode(doctor::Severity severity) {
  if (severity == doctor::Severity::kError) return kExitErrors;
  return severity == doctor::Severity::kWarning ? kExitWarnings : base::kExitSuccess;
}

}  // namespace

constexpr const char* kDoctorExamples = R"(
Examples:
  rochound doctor                           this machine, its GPUs and what is wrong
  rochound doctor --all                     every fact, every source
  rochound doctor --json | jq '.gpus[0].facts[] | select(.verdict == "wrong")'
  rochound softgpu --gpu rx6800xt -- rochound doctor
  rochound doctor -- ./vector_add           does this program fit this machine?
  rochound doctor --python python3          and this Python's PyTorch?
  rochound doctor ab -- ./train             which setting makes it work?
  rochound doctor --root ./copy             a copy of another machine's /sys, /proc, ...
  rochound doctor --fault trace.rpd.fault   why a GPU failed in a run that was recorded
  rochound doctor decide -- ./train         which of several kernels it was
  rochound doctor --hang 4711               what a program that runs waits for
  rochound run -- ./app && rochound doctor --ran trace.rpd
                                            did it run on the GPU, or fall back to CPU?

Each fact is shown as every source tells it: KFD and DRM (the kernel driver's
files), HSA and HIP (asked in a process of their own, so that a broken runtime
harms nobody), amd-smi where it is installed, and AMD's specification (known).
Verdicts: agree; one source, if nobody else has answered; explained, where the sources
differ and that is right; wrong; unknown. A program after -- is examined, not run: its libraries, and the GPUs
that its kernels were compiled for. docs/guides/doctor.md says more.

Exit codes: 0 nothing wrong (notes at most), 1 warnings, 2 wrong usage, 3 errors, or
a GPU failed (--fault) or hangs (--hang).
)";

const char* DoctorCommand::examples() const {
  for (const CLI::App* nested : subcommand_->get_subcommands())
    return ExamplesOf(nested->get_name());
  return kDoctorExamples;
}

const char* DoctorCommand::ExamplesOf(const std::string& nested) const {
  if (nested == "ab") return ab_.examples();
  return nested == "decide" ? decide_.examples() : profile_.examples();
}

DoctorCommand::DoctorCommand(CLI::App& app)
    : Command(app.add_subcommand("doctor", "Say what is wrong with this machine's GPU set-up")),
      ab_(*subcommand_),
      decide_(*subcommand_),
      profile_(*subcommand_) {
  UsageFormatter::Set(*subcommand_,
                      "rochound doctor [OPTIONS] [-- PROGRAM]\n"
                      "       rochound doctor ab|decide|apply|undo [OPTIONS] ...");
  subcommand_->require_subcommand(0, 1);
  subcommand_->add_flag("--json", json_, "Everything, as JSON");
  subcommand_->add_flag("--all", all_, "Show all facts, also those that agree");
  subcommand_
      ->add_option("--root", root_,
                   "Look at a copy of a machine's files: the folder of --copy, or the file of "
                   "rochound selftest --report")
      ->type_name("FOLDER");
  subcommand_
      ->add_option("--copy", copy_,
                   "Copy what is known about this machine's GPUs into a new folder, for --root "
                   "elsewhere; nothing about you is in it")
      ->type_name("FOLDER");
  subcommand_
      ->add_option("--limit", limit_, "Seconds that a runtime may take to answer (default: 20)")
      ->type_name("S")
      ->check(CLI::Range(0.1, 3600.0));
  subcommand_
      ->add_option(
          "--python", python_,
          "Look at the PyTorch of this interpreter, without importing it; with --root, the folder "
          "of the package torch")
      ->type_name("PYTHON");
  subcommand_->add_flag("--files-only", files_only_, "Start no program, load no runtime");
  subcommand_
      ->add_option("--fault", fault_, "Explain why a GPU failed, from what rochound run kept")
      ->type_name("FOLDER");
  subcommand_
      ->add_option("--hang", hang_,
                   "Say what the GPU work of a program that is being recorded waits for")
      ->type_name("PID");
  subcommand_
      ->add_option("--ran", ran_,
                   "Say whether a run that was recorded used the GPU, from its trace")
      ->type_name("TRACE.rpd");
  subcommand_->add_option("stray", stray_)->group("");  // only to say what is wrong with it
}

int DoctorCommand::Print(const doctor::Report& report) const {
  if (json_) {
    using Json = nlohmann::ordered_json;
    fmt::print("{}\n", ToJson(report).dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{}", ToText(report, base::ColourOnStdout(), base::TerminalWidth(), all_));
  }
  return ExitCode(report.Worst());
}

int DoctorCommand::ExplainFault() const {
  const auto explained = doctor::ExplainFault(fault_);
  if (!explained.ok()) {
    base::LogError(explained.error().message);
    return base::kExitSetup;
  }
  fmt::print("{}", json_ ? FaultJson(explained.value()) : FaultText(explained.value()));
  return kExitErrors;
}

int DoctorCommand::CopyMachine(const doctor::Machine& machine) const {
  const doctor::MachineCopy copy = doctor::CopyMachine(machine, doctor::ReadUser(machine.root));
  const auto written = doctor::WriteMachineCopy(copy, copy_);
  if (!written.ok()) {
    base::LogError(written.error().message);
    return base::kExitSetup;
  }
  for (const auto& [name, text] : copy) fmt::print("{}\n", name);
  return base::kExitSuccess;
}

int DoctorCommand::ExplainHang() const {
  if (hang_ <= 0) return Usage(fmt::format("{} is not a process id", hang_));
  const launch::ControlSocket socket = launch::FindControlSocket(hang_);
  std::string problem = socket.process == 0 ? launch::WhyNoSocket(hang_) : "";
  launch::ControlAnswer answer;
  base::Result<doctor::FaultExplanation> explained = base::Error{"nothing was read"};
  const auto ask = [&] {
    answer = launch::AskAll({socket}, "hang").front();
    problem = answer.error;
    if (!problem.empty()) return;
    // Whoever answers may name any folder.
    const auto read = launch::WithRightsOf(socket.user, [&] {
      explained =
          doctor::ExplainFault(std::filesystem::path(answer.Text("directory")) / "now.json");
    });
    if (!read.ok()) explained = read.error();
  };
  if (problem.empty()) ask();
  // A value that somebody changes meanwhile is no hang.
  if (problem.empty() && explained.ok() && explained.value().cause == "hang") {
    const doctor::FaultExplanation before = explained.value();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    ask();
    if (problem.empty() && explained.ok()) LookAgain(before, &explained.value());
  }
  if (!problem.empty()) {
    base::LogError(fmt::format("process {}: {}", hang_, problem));
    return base::kExitSetup;
  }
  if (!explained.ok()) {
    base::LogError(explained.error().message);
    return base::kExitSetup;
  }
  fmt::print("{}", json_ ? FaultJson(explained.value()) : FaultText(explained.value()));
  return explained.value().cause == "hang" ? kExitErrors : base::kExitSuccess;
}

int DoctorCommand::JudgeRecordedRun() const {
  const std::string trace = FindTrace(ran_);
  const auto run = [&]() -> base::Result<doctor::RunFacts> {
    if (!IsLogFolder(trace)) return doctor::ReadRun(trace);
    ROCHOUND_TRY(const base::TempDir folder,
                 base::TempDir::Create(std::filesystem::temp_directory_path(), "rochound-ran-"));
    TraceOutput output;
    output.rpd = folder.path() / "trace.rpd";
    ROCHOUND_TRY(const store::Summary summary, MakeOutput(trace, output, ""));
    (void)summary;
    return doctor::ReadRun(output.rpd);
  }();
  if (!run.ok()) {
    base::LogError(run.error().message);
    return base::kExitSetup;
  }
  doctor::Report report = JudgeRun(run.value());
  AddEvidence(trace, &report);
  if (!json_) return Print(report);
  using Json = nlohmann::ordered_json;
  Json json = {{"severity", Name(report.Worst())}, {"findings", ToJson(report)["findings"]}};
  json["run"] = RunJson(run.value());
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
  return ExitCode(report.Worst());
}

bool DoctorCommand::LookAtProgram(const std::vector<std::string>& program,
                                  const doctor::Machine& machine, doctor::Report* report) const {
  const doctor::Loader loader(machine.root, machine.environment);
  std::string python = python_;
  if (!program.empty()) {
    // In a copy, it is a path of the copied machine.
    const std::string path = machine.root.is_this_machine()    ? FindProgram(program[0])
                             : machine.root.Exists(program[0]) ? program[0]
                                                               : "";
    if (path.empty()) {
      base::LogError(
          fmt::format("there is no program '{}'; a program in this directory is called "
                      "./name",
                      program[0]));
      return false;
    }
    if (IsPython(path) && python.empty()) {
      python = path;
    } else {
      JudgeProgram(machine, loader, path, report);
    }
  }
  if (python.empty()) return true;
  const auto folder = machine.root.is_this_machine()
                          ? TorchFolder(python, launch::Lines(machine.environment))
                          : base::Result<std::string>(python);
  if (!folder.ok()) {
    base::LogError(folder.error().message);
    return false;
  }
  if (folder.value().empty()) {
    report->findings.push_back(
        {doctor::Severity::kNote, "no-torch", fmt::format("{} has no PyTorch", python), "", {}});
    return true;
  }
  JudgeTorch(machine, loader, python, doctor::ReadTorch(machine.root, folder.value()), report);
  return true;
}

int DoctorCommand::Run(const std::vector<std::string>& program) {
  if (ab_.Chosen()) return ab_.Run(program);
  if (decide_.Chosen()) return decide_.Run(program);
  if (profile_.Chosen()) return profile_.Run();
  if (!stray_.empty())
    return Usage(fmt::format("put -- before the program: rochound doctor -- {}", stray_[0]));
  if (!fault_.empty()) return ExplainFault();
  if (subcommand_->count("--hang") != 0) return ExplainHang();
  if (!ran_.empty()) return JudgeRecordedRun();
  std::error_code error;
  doctor::Asking asking;
  asking.root = root_;
  std::optional<base::TempDir> unpacked;
  if (std::filesystem::is_regular_file(root_, error)) {
    auto folder = doctor::UnpackHardwareReport(root_);
    if (!folder.ok()) return Usage("--root: " + folder.error().message);
    unpacked.emplace(std::move(folder).value());
    asking.root = unpacked->path();
  } else if (!std::filesystem::is_directory(root_, error)) {
    return Usage(fmt::format("--root: there is no folder '{}'", root_));
  }
  asking.runtimes = !files_only_;
  asking.limit = std::chrono::milliseconds(static_cast<int64_t>(limit_ * 1000));
  const doctor::Machine machine = doctor::AskMachine(asking);
  if (!copy_.empty()) return CopyMachine(machine);
  doctor::Report report;
  JudgeFacts(machine, &report);
  JudgeSurroundings(machine, &report);
  if (!LookAtProgram(program, machine, &report)) return base::kExitUsage;
  JudgeWayIn(machine, doctor::Loader(machine.root, machine.environment),
             program.empty()                  ? ""
             : machine.root.is_this_machine() ? FindProgram(program[0])
                                              : program[0],
             &report);
  return Print(report);
}

}  // namespace rochound::cli
