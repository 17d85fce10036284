// SPDX-License-Identifier: MIT
//
// An instruction's text in parts, for reach.cpp: mnemonic, operands, offset. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::doctor {

struct Operand {
  enum class Kind { kRegister, kNumber, kFloat, kOff, kOther };
  Kind kind = Kind::kOther;
  int reg = -1;         // number as in machine_state.h
  int count = 1;        // of registers
  uint64_t number = 0;  // sign-extended

  bool is_register() const { return kind == Kind::kRegister; }
};

struct Parsed {
  std::string mnemonic;  // without _e32, _e64; "v_mov_b32" for "v_dual_mov_b32"
  std::vector<Operand> operands;
  int64_t offset = 0;     // offset:16
  bool modified = false;  // DPP, SDWA, |v0|, -v0, or another change of the operands
  bool returns = false;   // an atomic that returns the old value
};

// Two for a pair of instructions in one ("::").
std::vector<Parsed> Parse(std::string_view text);

}  // namespace rochound::doctor
