// SPDX-License-Identifier: MIT
//
// Explains why a GPU failed, from what the agent wrote down at that moment (fault.json and the
// files beside it): which kernel, which argument, what was wrong with it, and what to do. Every
// kernel that may have been running is a suspect until the evidence clears it. Offline, any thread;
// a record may be damaged, and is then refused. What is guessed is called a guess.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::doctor {

// A kernel that may have failed.
struct FaultSuspect {
  std::string kernel;    // symbol
  std::string readable;  // C++ name
  uint32_t queue = 0;
  uint64_t packet = 0;
  std::array<uint64_t, 3> grid{};
  std::array<uint64_t, 3> workgroup{};
  double odds = 0;  // that it is the one, of all suspects; they add up to 1
  std::string reason;
};

// The instruction that probably failed.
struct FaultPlace {
  std::string file;  // of the source; empty without debug information
  uint32_t line = 0;
  std::string function;
  std::vector<std::string> code;  // instructions around it; "->" marks it
};

// What is first in a queue, and what it waits for.
struct FaultWait {
  int gpu = -1;
  uint32_t queue = 0;
  std::string kernel;    // symbol; empty: a packet that is no kernel
  std::string readable;  // C++ name
  double seconds = 0;    // so long
  // endless_loop, memory, signal, stream_value, copy, queue (another one that makes no progress), nothing (it
  // computes), unknown
  std::string waits_for;
  int argument = -1;               // that points to the memory
  bool hangs = false;              // what it waits for is not in flight
  bool deadlock = false;           // it waits for a queue that waits for it
  std::string text;                // a sentence
  std::optional<int64_t> value{};  // of the memory, where it could be read
};

// Who allocated or freed the memory: function names, innermost first.
struct FaultStack {
  std::string what;  // "allocated", "freed"
  std::vector<std::string> frames;
};

struct FaultExplanation {
  // out_of_bounds, use_after_free, null_pointer, bad_pointer, host_memory, no_access, bad_kernarg,
  // bad_call, misaligned, wrong_isa, illegal_instruction, aperture, trap, out_of_resources, hang,
  // slow, none (nothing is in flight for long), unknown
  std::string cause;
  bool sure = false;     // of cause and argument; otherwise the likeliest explanation
  std::string headline;  // one sentence
  std::string kernel;    // symbol of the likeliest suspect; empty: there is none
  // Nobody but `kernel` can have done it.
  bool kernel_sure = false;
  int argument = -1;      // explicit argument whose value is to blame, from 0; -1: none
  int reached_from = -1;  // the argument that leads to the pointer in memory that is to blame
  int gpu = -1;           // its number among the GPUs of the process; -1: not known
  std::string gpu_name;
  std::vector<FaultSuspect> suspects;  // the likeliest first
  std::vector<std::string> cleared;    // kernels that were in flight and did not do it, and why
  FaultPlace place;
  std::vector<FaultStack> stacks;
  std::vector<FaultWait> waiting;  // of a hang: each queue that makes no progress
  std::vector<std::string> evidence;
  std::vector<std::string> advice;
};

// `path`: the record, a folder with one, or a folder with a run's log.
base::Result<FaultExplanation> ExplainFault(const std::filesystem::path& path);

// `now` was read a moment after `before`: what waits for memory whose value has changed does not
// hang.
void LookAgain(const FaultExplanation& before, FaultExplanation* now);

// The records below a folder; a run has one per process that failed. A kernel that took long and
// ended is no fault.
std::vector<std::filesystem::path> FindFaults(const std::filesystem::path& folder);

// For a terminal, and for machines.
std::string FaultText(const FaultExplanation& explanation);
std::string FaultJson(const FaultExplanation& explanation);

}  // namespace rochound::doctor
