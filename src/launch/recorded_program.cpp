// SPDX-License-Identifier: MIT
#include "launch/recorded_program.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <sstream>
#include <system_error>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/installation.h"
#include "base/log.h"
#include "softgpu/tree/gpu_model.h"

namespace rochound::launch {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

namespace {

Result<fs::path> MakeLogDirectory(const std::string& asked, const fs::path& output) {
  std::error_code error;
  if (asked.empty()) {
    const fs::path folder = fs::absolute(output, error);
    ROCHOUND_TRY(base::TempDir made,
                 base::TempDir::Create(folder.parent_path(), folder.filename().string() + ".log-"));
    return made.Release();
  }
  const fs::path folder = fs::absolute(asked, error).lexically_normal();
  fs::create_directories(folder, error);
  if (error) return base::ErrnoError("cannot make the log's folder", folder, error.value());
  return folder;
}

}  // namespace

Result<void> PrepareLog(const std::string& asked, const fs::path& output, Recording* recording) {
  ROCHOUND_TRY(recording->agent,
               base::FindBesideExecutable("../lib/librochound_agent.so", "the agent"));
  ROCHOUND_TRY(recording->log_directory, MakeLogDirectory(asked, output));
  return {};
}

Result<std::vector<std::string>> OnSoftwareGpu(const std::string& gpus,
                                               const std::vector<std::string>& program) {
  if (gpus.empty()) return program;
  // Here and not in the program's place, which would count as the program having failed.
  ROCHOUND_TRY(const std::vector<softgpu::GpuModel> known, softgpu::LoadKnownGpuModels());
  std::istringstream names(gpus);
  for (std::string name; std::getline(names, name, ',');) {
    const auto picked = softgpu::PickGpuModel(name, known);
    if (!picked.ok()) return picked.error();
  }
  ROCHOUND_TRY(const fs::path self, base::ExecutablePath());
  std::vector<std::string> command = {self.string(), "softgpu", "--gpu", gpus, "--"};
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

int CannotStart(const Error& error, int error_number) {
  const bool not_found = error_number == ENOENT;
  base::LogError(fmt::format(
      "{}. {}", error.message,
      not_found ? "Check the name; a program in this directory is called ./name, and a script's "
                  "first line must name an interpreter that exists."
                : "Check that it is a program for this machine and that you may execute it (chmod "
                  "+x)."));
  return not_found ? base::kExitNotFound : base::kExitCannotRun;
}

std::string WhyNothing(const std::vector<std::string>& program, int status,
                       const std::vector<UnrecordedProcess>& unrecorded) {
  std::string seen;
  for (const UnrecordedProcess& process : unrecorded)
    seen += (seen.empty() ? "" : " ") + Describe(process);
  if (!seen.empty()) return seen;
  if (WIFSIGNALED(status))
    return fmt::format("the program was ended by signal {} before it used a GPU", WTERMSIG(status));
  std::string why =
      "no process of the program was seen to use a GPU. If one did, where we cannot look (sudo, "
      "ssh, containers, batch systems), put rochound inside of that.";
  if (WEXITSTATUS(status) != 0)
    why += fmt::format(" '{}' ended with exit code {}.", program[0], WEXITSTATUS(status));
  return why;
}

}  // namespace rochound::launch
