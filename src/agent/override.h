// SPDX-License-Identifier: MIT
//
// Answers about GPUs that the user wants corrected (ROCHOUND_OVERRIDE, `rochound run --override`):
// the runtime is asked as ever, and what it says is changed on the way to the program. Never
// silently: each kind of change is said once on stderr, and every single one is a mark in the
// trace. For programs that draw wrong conclusions from a right answer, such as 36 where they expect
// the RX 6800 XT's 72 compute units. On the program's threads.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rochound::agent {

// What was asked for, by ROCHOUND_OVERRIDE=cu=72,clock=2250,memory=16,name=Text.
struct Overrides {
  std::optional<uint32_t> compute_units;
  std::optional<uint32_t> clock_mhz;
  std::optional<uint64_t> memory_bytes;  // given in GiB
  std::optional<std::string> name;

  bool any() const { return compute_units || clock_mhz || memory_bytes || name; }
};

// False: `problem` says which part cannot be understood.
bool ReadOverrides(const std::string& text, Overrides* overrides, std::string* problem);

// Read once at set-up.
const Overrides& TheOverrides();
void PrepareOverrides();

// Changes an answer and leaves word of it.
void Corrected(const char* function, const char* property, const std::string& from,
               const std::string& to);

// Changes a name of at most so many bytes, if one was asked for.
void CorrectName(const char* function, const char* property, char* name, size_t size);

// Called for a HIP whose answers stay as they are; says so if any were to be corrected.
void WarnThatHipIsNotCorrected();

// HSA's own questions: compute units, clock and name. Sizes of memory are left alone.
void HookOverrides(CoreApiTable* core);

}  // namespace rochound::agent
