// SPDX-License-Identifier: MIT
//
// Whether a program, or the PyTorch of a Python, fits this machine: the libraries it would load,
// the GPUs its code objects were compiled for, and whether that torch was built for HIP at all.
// Nothing is run or imported here. Any thread.
#pragma once

#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/libraries.h"
#include "doctor/machine_facts.h"

namespace rochound::doctor {

void JudgeProgram(const Machine& machine, const Loader& loader, const std::string& path,
                  Report* report);

// What a program's own code is for, where it has some and none of it runs on one of these GPUs
// ("gfx942:sramecc+:xnack-"): "code for gfx1030, and none for gfx942". Otherwise empty.
std::string UnfitCode(const std::string& program, const std::vector<std::string>& gpus);

// What torch/version.py says.
struct Torch {
  std::string folder;  // .../site-packages/torch
  std::string version;
  std::string hip;   // "6.2.41134"; empty: none
  std::string cuda;  // "12.4"; empty: none
};

// folder: of the package torch.
Torch ReadTorch(const Sysroot& root, const std::string& folder);

// python: for messages.
void JudgeTorch(const Machine& machine, const Loader& loader, const std::string& python,
                const Torch& torch, Report* report);

}  // namespace rochound::doctor
