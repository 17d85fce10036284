// SPDX-License-Identifier: MIT
#include "softgpu/isa/semantics/hardware_registers.h"

#include <x86intrin.h>

namespace rochound::softgpu {
namespace {

enum class HwRegister : uint8_t {
  kMode,
  kStatus,
  kTrapStatus,
  kHwId,
  kGprAlloc,
  kLdsAlloc,
  kIbStatus,
  kShMemBases,
  kZero,  // known, and always zero here
  kFlatScratchLo,
  kFlatScratchHi,
  kXnackMask,
  kShaderCycles,
  kShaderCyclesLo,
  kShaderCyclesHi,
  kXccId,
};

struct Encoding {
  uint8_t id;
  HwRegister meaning;
  uint32_t targets;
  bool writable;
};

constexpr Encoding kEncodings[] = {
    {1, HwRegister::kMode, kAllTargets, true},
    {2, HwRegister::kStatus, kAllTargets, false},
    {3, HwRegister::kTrapStatus, kAllTargets & ~kGfx12Targets, true},
    {4, HwRegister::kHwId, kGfx9Targets, false},
    {5, HwRegister::kGprAlloc, kAllTargets, false},
    {6, HwRegister::kLdsAlloc, kAllTargets, false},
    {7, HwRegister::kIbStatus, kAllTargets, false},
    {15, HwRegister::kShMemBases, kAllTargets, false},
    {20, HwRegister::kXccId, kGfx942 | kGfx950, false},
    {4, HwRegister::kZero, kGfx12Targets, false},        // STATE_PRIV
    {17, HwRegister::kZero, kGfx12Targets, false},       // EXCP_FLAG_PRIV
    {18, HwRegister::kTrapStatus, kGfx12Targets, true},  // EXCP_FLAG_USER
    {19, HwRegister::kTrapStatus, kGfx12Targets, true},  // TRAP_CTRL: which exceptions trap
    {20, HwRegister::kFlatScratchLo, kRdnaTargets, true},
    {21, HwRegister::kFlatScratchHi, kRdnaTargets, true},
    {22, HwRegister::kXnackMask, kGfx10Targets, true},
    {23, HwRegister::kHwId, kRdnaTargets, false},  // HW_ID1
    {24, HwRegister::kZero, kRdnaTargets, false},  // HW_ID2: queue, pipe, VM
    {29, HwRegister::kShaderCycles, kGfx10Targets | kGfx11Targets, false},
    {29, HwRegister::kShaderCyclesLo, kGfx12Targets, false},
    {30, HwRegister::kShaderCyclesHi, kGfx12Targets, false},
};

// The bits of MODE that change what instructions do and are followed: rounding, denormals,
// DX10_CLAMP, IEEE, and on gfx9 the fork stack pointer.
constexpr uint32_t kModeImplemented = 0x3FF;
constexpr uint32_t kModeForkStack = 0xE0000000;

struct Field {
  unsigned offset;
  unsigned size;
  uint32_t mask() const { return (size == 32 ? ~0u : (1u << size) - 1) << offset; }
};

Field FieldOf(const Op* op) {
  uint32_t simm = static_cast<uint32_t>(op->imm2 >> 32);
  return {simm >> 6 & 31, (simm >> 11 & 31) + 1};
}

bool Prepare(const AsmInstruction& instruction, const Architecture& architecture, bool write,
             Op* op, std::string* why) {
  unsigned id = instruction.Simm16() & 0x3F;
  for (const Encoding& encoding : kEncodings) {
    if (encoding.id != id || !(encoding.targets & architecture.bit)) continue;
    if (write && !encoding.writable) break;
    op->imm = static_cast<int64_t>(encoding.meaning);
    op->imm2 = uint64_t{instruction.Simm16()} << 32 | instruction.words[1];
    return true;
  }
  *why = std::string(write ? "writing" : "reading") + " hardware register " + std::to_string(id);
  return false;
}

uint32_t ReadRegister(const Wave& wave, HwRegister meaning) {
  switch (meaning) {
    case HwRegister::kMode:
      return wave.mode;
    case HwRegister::kStatus: {
      constexpr uint32_t kValid = 1u << 16;
      return static_cast<uint32_t>(wave.scc) | static_cast<uint32_t>(wave.exec() == 0) << 9 |
             static_cast<uint32_t>(wave.vcc() == 0) << 10 | kValid;
    }
    case HwRegister::kHwId:
      return wave.hw_id;
    case HwRegister::kXccId:
      return wave.xcc_id;
    case HwRegister::kGprAlloc:
      return 63u << 8 | 15u << 24;  // as if all VGPRs and SGPRs were allocated
    case HwRegister::kLdsAlloc: {
      unsigned granule = wave.architecture->bit & kGfx9Targets ? 256 : 512;
      return (wave.lds_bytes + granule - 1) / granule << 12;
    }
    case HwRegister::kShMemBases:
      return wave.sgpr[kPrivateBase + 1] >> 16 | (wave.sgpr[kSharedBase + 1] & 0xFFFF0000);
    case HwRegister::kFlatScratchLo:
      return wave.sgpr[kFlatScratchLo];
    case HwRegister::kFlatScratchHi:
      return wave.sgpr[kFlatScratchLo + 1];
    case HwRegister::kXnackMask:
      return wave.sgpr[kXnackMaskLo];
    case HwRegister::kShaderCycles:
      return static_cast<uint32_t>(__rdtsc()) & 0xFFFFF;
    case HwRegister::kShaderCyclesLo:
      return static_cast<uint32_t>(__rdtsc());
    case HwRegister::kShaderCyclesHi:
      return static_cast<uint32_t>(__rdtsc() >> 32);
    case HwRegister::kTrapStatus:  // exceptions are not recorded
    case HwRegister::kIbStatus:    // nothing is ever outstanding
    case HwRegister::kZero:
      return 0;
  }
  return 0;
}

const Op* WriteRegister(Wave& wave, const Op* op, uint32_t source) {
  Field field = FieldOf(op);
  auto meaning = static_cast<HwRegister>(op->imm);
  uint32_t old = ReadRegister(wave, meaning);
  uint32_t value = (old & ~field.mask()) | (source << field.offset & field.mask());
  switch (meaning) {
    case HwRegister::kMode: {
      uint32_t known = kModeImplemented;
      if (wave.architecture->bit & kGfx9Targets) known |= kModeForkStack;
      if ((value ^ old) & value & ~known)
        return wave.StopIllegal(op, "not implemented: MODE bits set by '" + op->source->text + "'");
      wave.mode = value;
      break;
    }
    case HwRegister::kTrapStatus:
      // Clearing what was never set is all that can be done.
      if (value != 0)
        return wave.StopIllegal(op, "not implemented: TRAPSTS set by '" + op->source->text + "'");
      break;
    case HwRegister::kFlatScratchLo:
      wave.sgpr[kFlatScratchLo] = value;
      break;
    case HwRegister::kFlatScratchHi:
      wave.sgpr[kFlatScratchLo + 1] = value;
      break;
    case HwRegister::kXnackMask:
      wave.sgpr[kXnackMaskLo] = value;
      break;
    default:
      return wave.StopIllegal(op, "not implemented: " + op->source->text);
  }
  return op + 1;
}

}  // namespace

bool PrepareGetRegister(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                        std::string* why) {
  return Prepare(instruction, architecture, false, op, why);
}

bool PrepareSetRegister(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                        std::string* why) {
  return Prepare(instruction, architecture, true, op, why);
}

const Op* ExecGetRegister(Wave& wave, const Op* op) {
  Field field = FieldOf(op);
  uint32_t value = ReadRegister(wave, static_cast<HwRegister>(op->imm));
  WriteScalar32(wave, op->operand[0], (value & field.mask()) >> field.offset);
  return op + 1;
}

const Op* ExecSetRegister(Wave& wave, const Op* op) {
  return WriteRegister(wave, op, ReadScalar32(wave, op->operand[1]));
}

const Op* ExecSetRegisterImmediate(Wave& wave, const Op* op) {
  return WriteRegister(wave, op, static_cast<uint32_t>(op->imm2));
}

}  // namespace rochound::softgpu
