// SPDX-License-Identifier: MIT
//
// How to get from one frame of a stack to the one that called it, at a given instruction: what the
// compiler's unwind tables (.eh_frame) say, boiled down to one word and kept in a table, so that a
// frame seen before costs a few nanoseconds and no reading of tables. Any thread, no lock, no
// allocation in RuleAt; tables are read by a system call that reports bad addresses, so neither a
// wrong address nor a library unloaded under us can crash the program.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/calls/libraries.h"

namespace rochound::agent {

// With CFA, the stack pointer's value before the call: CFA = (from_bp ? bp : sp) + cfa_offset; the
// return address is at CFA - 8; the caller's bp is at CFA + bp_offset, or unchanged.
struct UnwindRule {
  enum class Kind : uint8_t { kNone, kRule, kOutermost };  // none: the tables do not tell
  Kind kind = Kind::kNone;
  bool from_bp = false;
  bool bp_saved = false;
  int32_t cfa_offset = 0;
  int32_t bp_offset = 0;
};

// The rule at an instruction. A return address stands behind the call: ask for one less.
UnwindRule RuleAt(uint64_t instruction);

// Reads the rule from the tables, without the cache; what RuleAt does for an instruction not seen
// yet.
UnwindRule ReadRule(uint64_t instruction);

// Which libraries there are, and where their tables; forgets all rules. Set-up and drain thread.
void SetUnwindLibraries(const std::vector<Library>& libraries);

// Whether an address is in the code of a library known since SetUnwindLibraries, or in our own.
bool IsCode(uint64_t address);
bool IsOurCode(uint64_t address);

}  // namespace rochound::agent
