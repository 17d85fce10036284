// SPDX-License-Identifier: MIT
//
// LLVM's disassembler for one target and wave size. Not thread-safe: the code cache calls it under
// its lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "softgpu/isa/architecture.h"
#include "softgpu/isa/instruction.h"

namespace rochound::softgpu {

class Disassembler {
 public:
  // Whether the LLVM of this build knows the target; older ones lack the newer GPUs.
  static bool Knows(std::string_view target);
  // nullptr if it does not.
  static std::unique_ptr<Disassembler> Create(const std::string& target, unsigned wave_size);
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  // The instruction at the front of `bytes`. nullopt with the reason in *why if it is no
  // instruction of this target; *text then still holds what LLVM printed, if it printed anything.
  std::optional<AsmInstruction> Decode(std::span<const uint8_t> bytes, uint64_t address,
                                       std::string* why);

 private:
  Disassembler(void* context, const Architecture& architecture)
      : context_(context), architecture_(architecture) {}
  void* context_;  // LLVMDisasmContextRef
  const Architecture& architecture_;
};

}  // namespace rochound::softgpu
