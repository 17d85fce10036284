// SPDX-License-Identifier: MIT
//
// The state of one wave and what its instructions may reach: registers, LDS, memory, its
// environment. Owned by a workgroup; run by one thread at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "softgpu/isa/op.h"
#include "softgpu/memory/address_space.h"

namespace rochound::softgpu {

class CodeCache;
class WaveTally;

enum class StopReason : uint8_t {
  kNone,
  kEnd,                 // s_endpgm
  kBarrier,             // waits for the other waves of its workgroup
  kYield,               // s_sleep and the like: let somebody else run
  kMemoryFault,         // Wave::fault
  kApertureViolation,   // LDS or scratch access out of bounds
  kMemoryViolation,     // misaligned where alignment is required
  kIllegalInstruction,  // undefined, or not implemented here
  kTrap,                // s_trap 2
};

struct Fault {
  uint64_t address = 0;
  uint8_t access = 0;  // Access bit
  bool mapped = false;
  std::string detail;  // what was not understood, for kIllegalInstruction
};

// What a wave asks of the machine around it.
class WaveEnvironment {
 public:
  virtual ~WaveEnvironment() = default;
  virtual void SendInterrupt(uint32_t context) = 0;  // s_sendmsg MSG_INTERRUPT, m0 in context
  // ds_gws_*: acts on `value` (of the first active lane) and stops the wave if it must wait; the
  // op is then run again. False if the machine does not know the instruction.
  virtual bool GlobalWaveSync(Wave& wave, const Op* op, uint32_t value) = 0;
};

// The barrier of a workgroup that is signalled and waited for apart (gfx12). A wave that has
// signalled may go on until it waits. The waves of a workgroup run on one thread.
struct SplitBarrier {
  uint32_t members = 0;
  uint32_t signalled = 0;
  uint64_t completed = 0;  // how often

  void CompleteIfAll() {
    if (signalled == 0 || signalled < members) return;
    signalled = 0;
    ++completed;
  }
};

struct Wave {
  alignas(64) uint32_t sgpr[kScalarRegisterCount] = {};  // see ScalarRegister
  uint32_t* rows = nullptr;                              // kRegisterRows x kRowLanes
  const Op* next = nullptr;
  const Architecture* architecture = nullptr;
  AddressSpace::Reader* memory = nullptr;
  CodeCache* code = nullptr;
  WaveEnvironment* environment = nullptr;
  WaveTally* tally = nullptr;  // nullptr: nobody counts

  uint8_t* lds = nullptr;  // of the workgroup
  uint32_t lds_bytes = 0;  // allocated: an access beyond is out of bounds

  // Scratch: dword d of lane l is at scratch_base + (d * lanes + l) * 4.
  uint64_t scratch_base = 0;
  uint32_t scratch_bytes_per_lane = 0;

  uint64_t full_exec = 0;  // all lanes of this wave size
  uint32_t mode = 0xF0;    // HW_REG_MODE
  uint8_t lanes = 64;
  bool scc = false;
  StopReason stop = StopReason::kNone;
  uint8_t wave_in_group = 0;
  uint32_t hw_id = 0;        // HW_ID, or HW_ID1
  uint32_t xcc_id = 0;       // the die
  uint64_t sync_ticket = 0;  // not 0: waits at a global barrier
  SplitBarrier* split_barrier = nullptr;
  uint64_t barriers_passed = 0;  // completions of the split barrier at this wave's last wait
  Fault fault;

  uint32_t* Row(unsigned index) { return rows + index * kRowLanes; }
  const uint32_t* Row(unsigned index) const { return rows + index * kRowLanes; }

  uint64_t Pair(unsigned index) const {
    uint64_t value;
    std::memcpy(&value, &sgpr[index], 8);
    return value;
  }
  void SetPair(unsigned index, uint64_t value) { std::memcpy(&sgpr[index], &value, 8); }

  // A lane mask in a scalar register: one register in wave32, two in wave64.
  uint64_t Mask(unsigned index) const { return lanes == 32 ? sgpr[index] : Pair(index); }
  void SetMask(unsigned index, uint64_t value) {
    if (lanes == 32) {
      sgpr[index] = static_cast<uint32_t>(value);
    } else {
      SetPair(index, value);
    }
  }
  uint64_t exec() const { return Mask(kExecLo); }
  void set_exec(uint64_t value) { SetMask(kExecLo, value); }
  uint64_t vcc() const { return Mask(kVccLo); }
  void set_vcc(uint64_t value) { SetMask(kVccLo, value); }

  // The wave stops at `op` (fault) or is to go on with `resume`. Returns nullptr for the handler.
  const Op* Stop(StopReason reason, const Op* resume) {
    stop = reason;
    next = resume;
    return nullptr;
  }
  const Op* StopFault(const Op* op, uint64_t address, uint8_t access);
  const Op* StopIllegal(const Op* op, std::string detail);
};

// Scalar operands. The operand must not be a vector register.
inline uint32_t ComputedScalar(const Wave& wave, unsigned index) {
  switch (index) {
    case kScc:
      return wave.scc;
    case kVccZ:
      return wave.vcc() == 0;
    default:
      return wave.exec() == 0;
  }
}
inline uint32_t ReadScalar32(const Wave& wave, const Operand& operand) {
  if (operand.kind == Operand::Kind::kScalar) [[likely]]
    return wave.sgpr[operand.index];
  if (operand.kind == Operand::Kind::kConstant) return static_cast<uint32_t>(operand.value);
  return ComputedScalar(wave, operand.index);
}
inline uint64_t ReadScalar64(const Wave& wave, const Operand& operand) {
  if (operand.kind == Operand::Kind::kScalar) [[likely]]
    return wave.Pair(operand.index);
  if (operand.kind == Operand::Kind::kConstant) return operand.value;
  return ComputedScalar(wave, operand.index);
}
inline uint64_t ReadMask(const Wave& wave, const Operand& operand) {
  return wave.lanes == 32 ? ReadScalar32(wave, operand) : ReadScalar64(wave, operand);
}
// Writes to `null` land in its own slots and are wiped, so that it always reads as zero.
inline void WriteScalar32(Wave& wave, const Operand& operand, uint32_t value) {
  wave.sgpr[operand.index] = operand.index == kNull ? 0 : value;
}
inline void WriteScalar64(Wave& wave, const Operand& operand, uint64_t value) {
  wave.SetPair(operand.index, operand.index == kNull ? 0 : value);
}
inline void WriteMask(Wave& wave, const Operand& operand, uint64_t value) {
  if (wave.lanes == 32) {
    WriteScalar32(wave, operand, static_cast<uint32_t>(value));
  } else {
    WriteScalar64(wave, operand, value);
  }
}

// Runs until the wave stops or `budget` instructions ran; returns how many ran.
uint64_t RunWave(Wave& wave, uint64_t budget);

}  // namespace rochound::softgpu
