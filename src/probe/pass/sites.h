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
#include <vector>

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

// What one instruction of the machine code accesses for it, without probes.
struct MachinePart {
  std::string instruction;  // global_load_dwordx4, as LLVM names it
  int64_t offset = 0;       // from the access's address
  uint64_t bytes = 0;       // of each lane
  bool scalar = false;      // by the scalar unit
  bool one_lane = false;    // by the first lane for all of them
  bool once = false;        // in a function, however often the access is executed
};

struct MachineAccess {
  bool known = false;
  std::vector<MachinePart> parts;  // none: another access's instruction does it, too
};

class Sites {
 public:
  // The number of the place.
  uint32_t AddFunction(const llvm::Function& function, Probes probes);
  uint32_t AddBlock(const llvm::BasicBlock& block, unsigned number);
  uint32_t AddAccess(const llvm::Instruction& instruction, const Access& access,
                     const MachineAccess& machine);
  // Something that accesses memory and sends no messages.
  void AddUnprobed(const llvm::Instruction& instruction, const char* why);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace rochound::probe
