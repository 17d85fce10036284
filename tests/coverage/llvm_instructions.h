// SPDX-License-Identifier: MIT
//
// Every instruction that LLVM's disassembler knows for a target, found by asking it: all values of
// the fields that can hold an opcode are tried with a few fillings of the others. LLVM has no list
// per target to ask for. Called by isa_coverage, on its only thread; takes seconds per target.
// LLVM ends the process on some encodings that are none, so the work is done in child processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rochound::coverage {

// LLVM's disassembler without our reading of its text. Owns a context of LLVM's C interface.
class PlainDisassembler {
 public:
  PlainDisassembler(const std::string& target, unsigned wave_size);
  ~PlainDisassembler();
  PlainDisassembler(const PlainDisassembler&) = delete;
  PlainDisassembler& operator=(const PlainDisassembler&) = delete;

  // Bytes of the instruction and its text; 0 if it is none. `bytes` must hold 32.
  size_t Decode(const uint8_t* bytes, std::string* text);

 private:
  void* context_;  // LLVMDisasmContextRef
};

// The mnemonics of a line, without the suffix of an encoding: two where two instructions are issued
// as one ("v_dual_mov_b32 ... :: v_dual_mul_f32 ...").
std::vector<std::string> Mnemonics(const std::string& text);

// Each mnemonic with one encoding of it, as hexadecimal words.
std::map<std::string, std::string> LlvmInstructions(const std::string& target);

}  // namespace rochound::coverage
