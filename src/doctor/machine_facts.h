// SPDX-License-Identifier: MIT
//
// Every GPU as KFD, DRM, HSA, HIP, amd-smi and the known-hardware table see it, side by side, with
// a verdict per fact: they agree, they differ and that is right (with the reason in words), or
// something is wrong. Called by the command line after everything was asked; one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/runtimes.h"
#include "doctor/sysroot.h"
#include "doctor/topology.h"

namespace rochound::doctor {

using Environment = std::map<std::string, std::string>;

// A variable's value; empty if it is not set.
std::string Variable(const Environment& environment, const std::string& name);

// Everything that facts are made of.
struct Machine {
  explicit Machine(Sysroot sysroot) : root(std::move(sysroot)) {}

  Sysroot root;
  Environment environment;
  std::vector<KfdGpu> kfd;
  std::vector<DrmGpu> drm;
  Runtimes runtimes;
  // What the programs that were asked printed, by the name that a copy of the machine has it under.
  std::map<std::string, std::string> answers;
};

// Adds gpus, the machine's own facts, and findings about what is wrong with them.
void JudgeFacts(const Machine& machine, Report* report);

}  // namespace rochound::doctor
