// SPDX-License-Identifier: MIT
//
// What the machine code of a module does for each of its accesses when there are no probes in it:
// which of them one instruction does together, which become several, which the scalar unit does. To
// know, it generates code for a copy of the module and throws that away. Called by the pass before
// it changes the module. An access that cannot be matched with instructions is left unknown.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/Instruction.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/OptimizationLevel.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "probe/pass/sites.h"

namespace rochound::probe {

// One per access, in their order.
std::vector<MachineAccess> FindMachineAccesses(
    llvm::Module& module, llvm::ArrayRef<std::pair<llvm::Instruction*, Access>> accesses,
    llvm::FunctionAnalysisManager& functions, llvm::OptimizationLevel level);

}  // namespace rochound::probe
