// SPDX-License-Identifier: MIT
//
// Everything that the doctor judges, asked of this machine or read from a copy of another: files,
// and the answers of rochound-probe and amd-smi, which are started with a time limit. Used by
// doctor_command on main's thread. A runtime that crashes or hangs is an answer, not a failure.
#pragma once

#include <chrono>
#include <filesystem>

#include "doctor/machine_facts.h"

namespace rochound::doctor {

struct Asking {
  std::filesystem::path root = "/";
  bool runtimes = true;  // start programs; a copy's answers are read from its files in any case
  std::chrono::milliseconds limit{20000};
};

// A copy of a machine may have, besides its files: environment (NAME=value lines), probe.jsonl and
// probe-without-wgp.jsonl (what rochound-probe printed, the latter with GPU_ENABLE_WGP_MODE=0),
// amd-smi.json, devices (see doctor/sysroot.h).
doctor::Machine AskMachine(const Asking& asking);

}  // namespace rochound::doctor
