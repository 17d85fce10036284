// SPDX-License-Identifier: MIT
//
// The instrumentation pass as the compiler's plugins register it: one plugin per kind of probes, so
// that what was asked for is on the compiler's command line.
#pragma once

#include <llvm/Passes/PassBuilder.h>

namespace rochound::probe {

enum class Probes { kAccesses, kBlocks };

void RegisterPass(llvm::PassBuilder& builder, Probes probes);

}  // namespace rochound::probe
