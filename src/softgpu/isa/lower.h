// SPDX-License-Identifier: MIT
//
// Turns a disassembled instruction and its table row into an Op. Called by the code cache under its
// lock.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "softgpu/isa/op.h"

namespace rochound::softgpu {

// Constants repeated for all lanes, so that lane loops read them like registers. Lives as long as
// the ops that point into it.
class ConstantRows {
 public:
  const void* Get(uint64_t value, bool wide);

 private:
  std::map<std::pair<uint64_t, bool>, std::unique_ptr<uint64_t[]>> rows_;
};

// Fills *op. False if the instruction is not implemented for the target; *why says what is missing.
bool LowerInstruction(const AsmInstruction& instruction, const Architecture& architecture,
                      ConstantRows* constants, Op* op, std::string* why);

}  // namespace rochound::softgpu
