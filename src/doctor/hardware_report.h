// SPDX-License-Identifier: MIT
//
// The file of `rochound selftest --report`: what a machine's GPUs are, a copy of what the doctor
// reads about them, and how each step of the self-test went. docs/hardware-reports.md says how it
// is read into tests. Used by selftest and doctor on main's thread; errors name the file.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "doctor/machine_copy.h"

namespace rochound::doctor {

struct ReportedGpu {
  std::filesystem::path rochound;  // the command to ask with
  std::filesystem::path scratch;   // a folder for the copy
  std::string softgpu;             // empty: the GPU that is here
};

// The report's text. steps: what the self-test found, as selftest --json prints it.
base::Result<std::string> MakeHardwareReport(const ReportedGpu& gpu,
                                             const nlohmann::ordered_json& steps);

base::Result<void> WriteMachineCopy(const doctor::MachineCopy& copy,
                                    const std::filesystem::path& folder);
// The machine of a report as files, for the doctor.
base::Result<base::TempDir> UnpackHardwareReport(const std::filesystem::path& report);

// "PROGRAM STEP" -> outcome.
using Outcomes = std::map<std::string, std::string>;
base::Result<Outcomes> ReadOutcomes(const std::filesystem::path& report);

}  // namespace rochound::doctor
