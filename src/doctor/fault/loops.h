// SPDX-License-Identifier: MIT
//
// The loops of a kernel's machine code and what ends them: nothing, a value in memory that somebody
// else has to change, or the kernel's own work. For kernels that do not end. Offline, pure, any
// thread. A loop counts as the kernel's own work wherever its end may depend on something that it
// computes, so that a slow kernel is never taken for one that waits.
#pragma once

#include <cstddef>
#include <vector>

#include "codeobj/disassembly.h"

namespace rochound::doctor {

struct Loop {
  enum class End {
    kNever,   // it has no way out, or one that nothing in it can open
    kMemory,  // only another value in memory lets it out
    kWork,    // it counts, follows pointers, looks at the clock
  };
  size_t first = 0;  // instruction
  size_t last = 0;   // the branch back
  End end = End::kWork;
  std::vector<size_t> loads;  // kMemory: instructions that read what it waits for
};

// Innermost loops first.
std::vector<Loop> FindLoops(const std::vector<codeobj::Instruction>& code);

}  // namespace rochound::doctor
