// SPDX-License-Identifier: MIT
#include "softgpu/isa/disassembler.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <llvm/Config/llvm-config.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "softgpu/isa/architecture.h"

namespace rochound::softgpu {
namespace {

// Longer than any instruction: LLVM looks ahead for literals, and never past what it is given.
constexpr size_t kWindow = 32;

// Encodings with a field value that no instruction may have, on which LLVM's disassembler crashes
// instead of refusing (seen with LLVM 22, by feeding it arbitrary words).
bool HasReservedField(const uint32_t* words, const Architecture& architecture) {
  constexpr uint32_t kLiteral = 0xFF;
  bool is_gfx9 = architecture.bit & kGfx9Targets;
  uint32_t encoding = words[0] >> 26;
  bool is_buffer = encoding == 0x38 || encoding == 0x3A;     // MUBUF, MTBUF
  if (is_buffer && words[1] >> 24 == kLiteral) return true;  // a literal scalar offset
  if (is_gfx9 && encoding == 0x34) {                         // VOP3 has no literals on gfx9
    for (unsigned shift : {0u, 9u, 18u})
      if ((words[1] >> shift & 0x1FF) == kLiteral) return true;
  }
  bool has_sdwa = architecture.bit & (kGfx9Targets | kGfx10Targets);
  bool is_sdwa = has_sdwa && words[0] >> 31 == 0 && (words[0] & 0x1FF) == 0xF9;
  if (!is_sdwa) return false;
  bool is_compare = words[0] >> 25 == 0x3E;
  bool has_one_source = words[0] >> 25 == 0x3F;
  auto select_is_reserved = [&](unsigned shift) { return (words[1] >> shift & 7) == 7; };
  if (select_is_reserved(16) || (!has_one_source && select_is_reserved(24))) return true;
  return !is_compare && (select_is_reserved(8) || (words[1] >> 11 & 3) == 3);
}

// Since gfx10 v_cmpx writes the execution mask and nothing else. Its long encoding still has a
// field for the destination, which the hardware ignores. LLVM 15 writes 0 there; newer ones write
// the mask and take 0 for no instruction.
void NameDestinationOfCompare(uint32_t* word, const Architecture& architecture) {
  constexpr uint32_t kExec = 0x7E;
  if (architecture.bit & kGfx9Targets || *word >> 26 != 0x35) return;  // VOP3
  uint32_t opcode = *word >> 16 & 0x3FF;
  uint32_t writes_mask = architecture.bit & kGfx10Targets ? 0x10 : 0x80;
  if (opcode <= 0xFF && opcode & writes_mask) *word = (*word & ~0xFFu) | kExec;
}

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
    // The first source says that it is DPP8; VOP3 has it in the second word.
    bool is_long = instruction->words[0] >> 31 != 0;
    m.fetch_inactive = (instruction->words[is_long ? 1 : 0] & 0x1FF) == 0xEA;
  }
}

// LLVM prints as many op_sel bits as there are sources, then the destination's; in the encoding the
// destination's is always bit 3. Packed math has no destination bit.
void ReadOpSel(AsmInstruction* instruction, bool is_gfx9) {
  uint32_t word = instruction->words[0];
  bool is_packed = is_gfx9 ? word >> 23 == 0x1A7 : word >> 24 == 0xCC;
  Modifiers& m = instruction->modifiers;
  if (m.op_sel_fields != 0 && !is_packed) m.op_sel = static_cast<uint8_t>(word >> 11 & 0xF);
}

}  // namespace

bool Disassembler::Knows(std::string_view target) {
  const Architecture* architecture = FindArchitecture(target);
  return architecture != nullptr && LLVM_VERSION_MAJOR >= architecture->first_llvm;
}

std::unique_ptr<Disassembler> Disassembler::Create(const std::string& target, unsigned wave_size) {
  // LLVM itself would go on, and end the process at the first instruction.
  if (!Knows(target)) return nullptr;
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  std::string features =
      wave_size == 32 ? "+wavefrontsize32,-wavefrontsize64" : "-wavefrontsize32,+wavefrontsize64";
  if (target.starts_with("gfx9")) features.clear();  // wave64 is all there is
  // Tells the halves of 16-bit registers apart, which the encodings since gfx11 do whatever the
  // compiler was told. Older versions of LLVM lack instructions with it.
  if (LLVM_VERSION_MAJOR >= 22 && (FindArchitecture(target)->bit & (kGfx11Targets | kGfx12Targets)))
    features += ",+real-true16";
  void* context = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", target.c_str(), features.c_str(),
                                              nullptr, 0, nullptr, nullptr);
  if (context == nullptr) return nullptr;
  return std::unique_ptr<Disassembler>(new Disassembler(context, *FindArchitecture(target)));
}

Disassembler::~Disassembler() { LLVMDisasmDispose(context_); }

std::optional<AsmInstruction> Disassembler::Decode(std::span<const uint8_t> bytes, uint64_t address,
                                                   std::string* why) {
  // A padded copy: the disassembler must not depend on what happens to follow the code.
  uint8_t window[kWindow] = {};
  size_t available = std::min(bytes.size(), kWindow);
  std::memcpy(window, bytes.data(), available);
  *why = "no instruction of this target";
  uint32_t words[2];
  std::memcpy(words, window, sizeof(words));
  if (HasReservedField(words, architecture_)) return std::nullopt;
  NameDestinationOfCompare(words, architecture_);
  std::memcpy(window, words, sizeof(words));
  char text[512] = {};
  size_t size = LLVMDisasmInstruction(context_, window, kWindow, address, text, sizeof(text));
  if (size == 0 || size > available || size % 4 != 0 || size > sizeof(AsmInstruction::words))
    return std::nullopt;
  std::optional<AsmInstruction> instruction = ParseAssembly(text, why);
  if (!instruction) {
    *why += std::string(" in '") + text + "'";
    return std::nullopt;
  }
  instruction->address = address;
  instruction->size = static_cast<uint32_t>(size);
  std::memcpy(instruction->words, window, size);
  ReadDpp(&*instruction);
  ReadOpSel(&*instruction, architecture_.bit & kGfx9Targets);
  return instruction;
}

}  // namespace rochound::softgpu
