// SPDX-License-Identifier: MIT
//
// A kernel's instructions as text, with the source lines they come from. Both are told by ROCm's
// code object manager (libamd_comgr), which is loaded when it is first needed, so that nothing of
// ours links LLVM; without it, or where it refuses, there is an error that says what to install.
// Offline code, one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace rochound::codeobj {

struct SourceFrame {
  std::string function;  // demangled
  std::string file;
  uint32_t line = 0;  // 0: the compiler made the instruction up
  uint32_t column = 0;
};

struct Instruction {
  uint64_t address = 0;  // as in the file
  uint32_t size = 0;
  std::string text;                // "s_load_dword s3, s[0:1], 0x3c"; ".long 0x..." if it is none
  std::optional<uint64_t> target;  // of a branch
  // Innermost first: with inlined functions there are several. Empty without debug information.
  std::vector<SourceFrame> source;
};

// bytes: what object was read from. with_source costs time where there is debug information, and
// is ignored where there is none.
base::Result<std::vector<Instruction>> Disassemble(std::string_view bytes, const CodeObject& object,
                                                   const Kernel& kernel, bool with_source);

// Whether there are line numbers (the code was compiled with -g or -gline-tables-only).
bool HasSourceLines(std::string_view bytes);

// What the symbolizer prints for one address, as frames; for tests.
std::vector<SourceFrame> ParseFrames(std::string_view text);

}  // namespace rochound::codeobj
