// SPDX-License-Identifier: MIT
#include "profile/measure_peaks.h"

#include <fmt/format.h>

#include <chrono>

#include "base/files.h"
#include "base/installation.h"
#include "base/log.h"
#include "contract/variables.h"
#include "doctor/ask_machine.h"
#include "launch/limited_run.h"
#include "launch/run_environment.h"
#include "profile/gpu_peaks.h"
#include "profile/measured_peaks.h"

namespace rochound::profile {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

constexpr std::chrono::minutes kMostCompiling{10};
constexpr std::chrono::minutes kMostMeasuring{10};

// The last lines of what a program said.
std::string EndOf(const std::string& text) {
  constexpr size_t kMost = 1000;
  return text.size() <= kMost ? text : "..." + text.substr(text.size() - kMost);
}

Result<std::string> Run(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                        const char* what) {
  ROCHOUND_TRY(const launch::LimitedRun run,
               launch::RunLimited(command, launch::Lines(launch::CurrentEnvironment()), limit));
  if (run.ok()) return run.out;
  return Error{fmt::format("{} {}\n{}", what, run.End(), EndOf(run.err))};
}

}  // namespace

Result<std::string> MeasurePeaks(const fs::path& folder) {
  const doctor::Machine machine = doctor::AskMachine(doctor::Asking{});
  const doctor::Runtime& runtime = machine.runtimes.hsa;
  if (runtime.gpus.empty()) {
    return Error{fmt::format("there is no GPU to measure{}{}; rochound doctor says more",
                             runtime.error.empty() ? "" : ": ", runtime.error)};
  }
  const doctor::RuntimeGpu& gpu = runtime.gpus[0];
  const std::string target = gpu.processor();
  if (!target.starts_with("gfx")) return Error{"the GPU is called " + target + ", and not gfx..."};
  ROCHOUND_TRY(const fs::path hipcc, base::FindRocmProgram("hipcc"));
  ROCHOUND_TRY(const fs::path source,
               base::FindBesideExecutable("../share/rochound/peaks.hip", "the measuring program"));
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  ROCHOUND_TRY(const base::TempDir work,
               base::TempDir::Create(error ? "/tmp" : temporary, "rochound-peaks-"));
  const std::string program = (work.path() / "peaks").string();
  base::LogInfo(fmt::format("compiling for {}", target));
  ROCHOUND_CHECK(Run({hipcc.string(), "-std=c++17", "-O3", "--offload-arch=" + target,
                      "-DPEAKS_TARGET=0x" + target.substr(3), source.string(), "-o", program},
                     kMostCompiling, "hipcc"));
  const bool software = launch::CurrentEnvironment().contains(contract::variables::kSoftgpuRoot);
  base::LogInfo(fmt::format("measuring {}", gpu.name));
  ROCHOUND_TRY(const std::string said,
               Run({program, std::to_string(gpu.l2_bytes.value_or(0)),
                    std::to_string(gpu.l3_bytes.value_or(0)), software ? "small" : "full"},
                   kMostMeasuring, "the measuring program"));
  ROCHOUND_TRY(const MeasuredPeaks measured, ParseMeasurements(said, target, software));
  fs::create_directories(folder, error);
  if (error) return base::ErrnoError("cannot create", folder, error.value());
  ROCHOUND_CHECK(base::WriteFileAtomically(folder / "peaks.json", MeasuredPeaksJson(measured)));
  Peaks table;
  if (const auto architecture = FindArchitecture(target); architecture.ok())
    table = PeaksOf(DeviceOf(gpu), architecture.value());
  return MeasuredPeaksPage(measured, table) +
         fmt::format("Written to {}; rochound profile --peaks uses it.\n",
                     (folder / "peaks.json").string());
}

}  // namespace rochound::profile
