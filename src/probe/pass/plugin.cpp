// SPDX-License-Identifier: MIT
//
// What the compiler looks for in a plugin. Compiled once per kind of probes.
#include <llvm/Plugins/PassPlugin.h>

#include "probe/pass/pass.h"

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "rochound-probe", "1", [](llvm::PassBuilder& builder) {
            rochound::probe::RegisterPass(builder, rochound::probe::Probes::ROCHOUND_PROBES);
          }};
}
