// SPDX-License-Identifier: MIT
//
// Instructions that the device functions leave to the GPU at hand, since each generation writes
// them in its own way. Used by the pass.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <cstdint>

namespace rochound::probe {

// Whether its GPU is one that the instructions are known for.
bool HasKnownGpu(const llvm::Function& function);

bool HasWave32(const llvm::Function& function);

// Which bits of its cycle counter count; the others are 0.
uint64_t ClockBits(const llvm::Function& function);

// Puts them where the functions are called that stand for them, and removes these. Every caller's
// GPU is known.
void WriteGpuInstructions(llvm::Module& module);

}  // namespace rochound::probe
