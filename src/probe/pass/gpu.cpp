// SPDX-License-Identifier: MIT
#include "probe/pass/gpu.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

#include <cstddef>
#include <string>

#include "probe/layout.h"

namespace rochound::probe {

using namespace llvm;  // NOLINT: nearly every name here is from there

namespace {

struct Generation {
  const char* name;  // how the names of its GPUs begin; the first that fits counts
  const char* wait_for_stores;
  const char* wait_for_result;
  const char* add;      // 64 bits
  const char* returns;  // visible to the host, and the value before is returned
};
constexpr Generation kGenerations[] = {
    {"gfx94", "s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0)", "global_atomic_add_x2", "sc0 sc1"},
    {"gfx95", "s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0)", "global_atomic_add_x2", "sc0 sc1"},
    {"gfx9-4", "s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0)", "global_atomic_add_x2", "sc0 sc1"},
    {"gfx9", "s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0)", "global_atomic_add_x2", "glc"},
    {"gfx10", "s_waitcnt_vscnt null, 0x0", "s_waitcnt vmcnt(0)", "global_atomic_add_x2", "glc"},
    {"gfx11", "s_waitcnt_vscnt null, 0x0", "s_waitcnt vmcnt(0)", "global_atomic_add_u64", "glc"},
    {"gfx12", "s_wait_storecnt 0x0", "s_wait_loadcnt 0x0", "global_atomic_add_u64",
     "th:TH_ATOMIC_RETURN scope:SCOPE_SYS"},
};

const Generation* GenerationOf(const Function& function) {
  const StringRef gpu = function.getFnAttribute("target-cpu").getValueAsString();
  for (const Generation& generation : kGenerations)
    if (gpu.starts_with(generation.name)) return &generation;
  return nullptr;
}

// In one lane, without a branch. The result is waited for before the other lanes are back, since
// some GPUs must not change the mask while an access that it is for is on its way.
Value* AddToState(IRBuilder<>& builder, const CallInst& call) {
  const Generation& gpu = *GenerationOf(*call.getFunction());
  const bool wave32 = HasWave32(*call.getFunction());
  const std::string bits = wave32 ? "_b32" : "_b64";
  const std::string exec = wave32 ? "exec_lo" : "exec";
  const std::string vcc = wave32 ? "vcc_lo" : "vcc";
  const std::string offset = std::to_string(static_cast<int>(offsetof(RochoundProbeRing, state)) -
                                            int{sizeof(RochoundProbeRing)});
  // $0: the state before. $1: the mask of lanes. Then the words' address, what is added, a zero,
  // and what is 0 in the first lane.
  const std::string text = "v_cmp_eq_u32 " + vcc + ", 0, $5\ns_and_saveexec" + bits + " $1, " +
                           vcc + "\n" + gpu.add + " $0, $4, $3, $2 offset:" + offset + " " +
                           gpu.returns + "\n" + gpu.wait_for_result + "\ns_mov" + bits + " " +
                           exec + ", $1";
  Type* const mask = wave32 ? builder.getInt32Ty() : builder.getInt64Ty();
  auto* const type = FunctionType::get(
      StructType::get(builder.getInt64Ty(), mask),
      {builder.getInt64Ty(), builder.getInt64Ty(), builder.getInt32Ty(), builder.getInt32Ty()},
      /*isVarArg=*/false);
  SmallVector<Value*> arguments(call.args());
  Value* const both =
      builder.CreateCall(InlineAsm::get(type, text, "=&v,=&s,s,v,v,v,~{vcc},~{scc},~{memory}",
                                        /*hasSideEffects=*/true),
                         arguments);
  return builder.CreateExtractValue(both, 0);
}

}  // namespace

bool HasWave32(const Function& function) {
  const StringRef features = function.getFnAttribute("target-features").getValueAsString();
  if (features.contains("+wavefrontsize64")) return false;
  if (features.contains("+wavefrontsize32")) return true;
  return !function.getFnAttribute("target-cpu").getValueAsString().starts_with("gfx9");
}

// gfx11 has no other clock in cycles than a register of 20 bits.
uint64_t ClockBits(const Function& function) {
  const StringRef gpu = function.getFnAttribute("target-cpu").getValueAsString();
  return gpu.starts_with("gfx11") ? (1u << 20) - 1 : ~uint64_t{0};
}

bool HasKnownGpu(const Function& function) { return GenerationOf(function) != nullptr; }

void WriteGpuInstructions(Module& module) {
  const auto replace = [&](const char* name, auto&& write) {
    Function* const function = module.getFunction(name);
    if (function == nullptr) return;
    for (User* const user : make_early_inc_range(function->users())) {
      auto* const call = cast<CallInst>(user);
      IRBuilder<> builder(call);
      write(builder, *call);
      call->eraseFromParent();
    }
    function->eraseFromParent();
  };
  replace("__rochound_probe_wait_for_stores", [](IRBuilder<>& builder, CallInst& call) {
    builder.CreateCall(InlineAsm::get(call.getFunctionType(),
                                      GenerationOf(*call.getFunction())->wait_for_stores,
                                      "~{memory}", /*hasSideEffects=*/true));
  });
  replace("__rochound_probe_add_to_state", [](IRBuilder<>& builder, CallInst& call) {
    call.replaceAllUsesWith(AddToState(builder, call));
  });
}

}  // namespace rochound::probe
