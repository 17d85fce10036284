// SPDX-License-Identifier: MIT
#include "softgpu/isa/disassembler.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace rochound::softgpu {
namespace {

// Longer than any instruction: LLVM looks ahead for literals, and never past what it is given.
constexpr size_t kWindow = 32;

void ReadDpp(AsmInstruction* instruction) {
  Modifiers& m = instruction->modifiers;
  uint32_t word = instruction->words[instruction->size / 4 - 1];
  if (m.is_dpp) {
    m.dpp_ctrl = static_cast<uint16_t>((word >> 8) & 0x1FF);
    m.fetch_inactive = (word >> 18) & 1;
    m.bound_ctrl = (word >> 19) & 1;
    m.bank_mask = static_cast<uint8_t>((word >> 24) & 0xF);
    m.row_mask = static_cast<uint8_t>((word >> 28) & 0xF);
  } else if (m.is_dpp8) {
    for (int i = 0; i < 8; ++i) m.dpp8_lane[i] = static_cast<uint8_t>((word >> (8 + 3 * i)) & 7);
    m.fetch_inactive = (instruction->words[0] & 0x1FF) == 0xEA;
  }
}

}  // namespace

std::unique_ptr<Disassembler> Disassembler::Create(const std::string& target, unsigned wave_size) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  std::string features = wave_size == 32 ? "+wavefrontsize32,-wavefrontsize64"
                                         : "-wavefrontsize32,+wavefrontsize64";
  if (target.starts_with("gfx9")) features.clear();  // wave64 is all there is
  void* context = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", target.c_str(), features.c_str(),
                                              nullptr, 0, nullptr, nullptr);
  if (context == nullptr) return nullptr;
  return std::unique_ptr<Disassembler>(new Disassembler(context));
}

Disassembler::~Disassembler() { LLVMDisasmDispose(context_); }

std::optional<AsmInstruction> Disassembler::Decode(std::span<const uint8_t> bytes, uint64_t address,
                                                   std::string* why) {
  // A padded copy: the disassembler must not depend on what happens to follow the code.
  uint8_t window[kWindow] = {};
  size_t available = std::min(bytes.size(), kWindow);
  std::memcpy(window, bytes.data(), available);
  char text[512] = {};
  size_t size = LLVMDisasmInstruction(context_, window, kWindow, address, text, sizeof(text));
  if (size == 0 || size > available || size % 4 != 0 || size > sizeof(AsmInstruction::words)) {
    *why = "no instruction of this target";
    return std::nullopt;
  }
  std::optional<AsmInstruction> instruction = ParseAssembly(text, why);
  if (!instruction) {
    *why += std::string(" in '") + text + "'";
    return std::nullopt;
  }
  instruction->address = address;
  instruction->size = static_cast<uint32_t>(size);
  std::memcpy(instruction->words, window, size);
  ReadDpp(&*instruction);
  return instruction;
}

}  // namespace rochound::softgpu
