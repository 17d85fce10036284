// SPDX-License-Identifier: MIT
//
// The places in a module that send messages, as text: one JSON object per place, each ended by a
// zero byte. The text becomes a constant of the module, so it is in the code object, and a place's
// number is where its text begins. docs/formats/probe-stream.md has the fields. Used by the pass.
#pragma once

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>

#include <cstdint>
#include <string>

#include "probe/pass/pass.h"

namespace rochound::probe {

struct Access {
  const char* action = "";  // load, store, atomic, barrier, value
  unsigned address_space = 0;
  uint64_t bytes = 0;
  llvm::Value* pointer = nullptr;
  // Of a raw buffer, whose address is not in one pointer: descriptor and both offsets.
  llvm::Value* descriptor = nullptr;
  llvm::Value* lane_offset = nullptr;
  llvm::Value* wave_offset = nullptr;
  // What the source asks to be told, and its name there.
  llvm::Value* value = nullptr;
  std::string name{};
};

class Sites {
 public:
  // The number of the place.
  uint32_t AddFunction(const llvm::Function& function, Probes probes);
  uint32_t AddBlock(const llvm::BasicBlock& block, unsigned number);
  uint32_t AddAccess(const llvm::Instruction& instruction, const Access& access);
  // Something that accesses memory and sends no messages.
  void AddUnprobed(const llvm::Instruction& instruction, const char* why);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace rochound::probe
