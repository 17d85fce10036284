// SPDX-License-Identifier: MIT
//
// SMEM: loads, stores and atomics of the scalar unit, its clocks and its cache controls. An address
// is base + register + immediate with the lowest two bits ignored. Through a buffer descriptor,
// dwords beyond its end read as zero and are not written.
#include <algorithm>
#include <array>
#include <cstring>

#include "softgpu/isa/semantics/atomic_ops.h"
#include "softgpu/isa/semantics/lane_memory.h"
#include "softgpu/isa/semantics/scalar_address.h"
#include "softgpu/isa/tables.h"
#include "softgpu/memory/gpu_clock.h"

namespace rochound::softgpu {
namespace {

using namespace atomic_ops;
using Base = ScalarBase;

template <Base B, unsigned kDwords>
const Op* ExecScalarLoad(Wave& wave, const Op* op) {
  uint16_t to = MemoryForm::Of(op).data;
  ScalarPlace place = Locate<B>(wave, op, kDwords);
  alignas(8) uint32_t values[kDwords] = {};
  const uint8_t* host = nullptr;
  if (B != Base::kBuffer || place.inside == kDwords)
    host = wave.memory->Translate(place.address, kDwords * 4, kRead);
  if (host != nullptr) [[likely]] {
    CopyFromMemory(reinterpret_cast<uint8_t*>(values), host, kDwords * 4);
  } else if (!ReadGlobal(wave, op, place.address, place.inside * 4,
                         reinterpret_cast<uint8_t*>(values))) {
    return nullptr;
  }
  if (to != kNull) std::copy_n(values, kDwords, &wave.sgpr[to]);
  return op + 1;
}

// A byte or two, extended (gfx12): the one kind of scalar access whose address is not cut.
template <Base B, typename T>
const Op* ExecScalarLoadSmall(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  uint64_t offset = RegisterOffset(wave, form) + static_cast<uint64_t>(op->imm);
  uint64_t address = 0;
  bool inside = true;
  if constexpr (B == Base::kAddress) {
    address = wave.Pair(form.address) + offset;
  } else {
    const uint32_t* words = &wave.sgpr[form.address];
    uint64_t stride = words[1] >> 16 & 0x3FFF;
    uint64_t size = stride == 0 ? words[2] : stride * words[2];
    address = (words[0] | uint64_t{words[1] & 0xFFFF} << 32) + offset;
    inside = offset + sizeof(T) <= size;
  }
  T value = 0;
  uint8_t bytes[sizeof(T)];
  if (inside) {
    if (!ReadGlobal(wave, op, address, sizeof(T), bytes)) return nullptr;
    std::memcpy(&value, bytes, sizeof(T));
  }
  WriteScalar32(wave, op->operand[0], static_cast<uint32_t>(int32_t{value}));
  return op + 1;
}

template <Base B, unsigned kDwords>
const Op* ExecScalarStore(Wave& wave, const Op* op) {
  ScalarPlace place = Locate<B>(wave, op, kDwords);
  const auto* values = reinterpret_cast<const uint8_t*>(&wave.sgpr[MemoryForm::Of(op).data]);
  return WriteGlobal(wave, op, place.address, place.inside * 4, values) ? op + 1 : nullptr;
}

// The data registers hold the new value, then the one to compare with; the old value replaces the
// first if the instruction returns it.
template <Base B, typename T, auto F, bool kCompares, bool kReturns>
const Op* ExecScalarAtomic(Wave& wave, const Op* op) {
  constexpr unsigned kDwords = sizeof(T) / 4;
  uint16_t at = MemoryForm::Of(op).data;
  ScalarPlace place = Locate<B>(wave, op, kDwords);
  T data;
  T compare{};
  std::memcpy(&data, &wave.sgpr[at], sizeof(T));
  if (kCompares) std::memcpy(&compare, &wave.sgpr[at + kDwords], sizeof(T));
  T old{};
  if (place.inside == kDwords) {
    AtomicPlace found;
    if (!FindAtomicPlace(wave, op, AddressKind::kGlobal, place.address, 0, sizeof(T), &found))
      return nullptr;
    old = UpdateShared<T, F>(found.host, data, compare);
  }
  if (kReturns) std::memcpy(&wave.sgpr[at], &old, sizeof(T));
  return op + 1;
}

const Op* ExecTime(Wave& wave, const Op* op) {
  WriteScalar64(wave, op->operand[0], GpuClockNow());
  return op + 1;
}

const Op* ExecNothing(Wave&, const Op* op) { return op + 1; }

// data, base, offset.
bool Prepare(const AsmInstruction& instruction, const Architecture&, Op* op, std::string* why) {
  MemoryForm form;
  const Operand& data = op->operand[0];
  const Operand& base = op->operand[1];
  const Operand& offset = op->operand[2];
  if (op->operand_count != 3 || data.kind != Operand::Kind::kScalar ||
      base.kind != Operand::Kind::kScalar) {
    *why = "operands";
    return false;
  }
  // A range may end in EXEC, and no register that is computed when read can be written.
  if (data.index != kNull && data.index + data.dwords > kExecLo + 2) {
    *why = "data registers";
    return false;
  }
  form.data = data.index;
  form.address = base.index;
  op->imm = instruction.modifiers.offset;
  if (offset.kind == Operand::Kind::kScalar) {
    form.scalar = offset.index;
  } else if (offset.kind == Operand::Kind::kConstant) {
    op->imm += instruction.operands[2].integer;
  } else {
    *why = "offset";
    return false;
  }
  form.Store(op);
  return true;
}

template <Base B, typename T, auto F, bool kCompares>
bool PrepareAtomic(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                   std::string* why) {
  if (!Prepare(instruction, architecture, op, why)) return false;
  if (instruction.modifiers.glc) op->exec = &ExecScalarAtomic<B, T, F, kCompares, true>;
  return true;
}

constexpr std::array<Ty, kMaxOperands> kRawOperands = {Ty::kRaw, Ty::kRaw, Ty::kRaw};

template <Base B, unsigned kDwords>
constexpr Row Load(std::string_view mnemonic) {
  return {mnemonic, &ExecScalarLoad<B, kDwords>, kRawOperands, nullptr, 0, kAllTargets, &Prepare};
}
template <Base B, unsigned kDwords>
constexpr Row Store(std::string_view mnemonic) {
  return {mnemonic, &ExecScalarStore<B, kDwords>, kRawOperands, nullptr, 0, kAllTargets, &Prepare};
}
template <Base B, typename T, auto F, bool kCompares = false>
constexpr Row Atomic(std::string_view mnemonic) {
  return {mnemonic,
          &ExecScalarAtomic<B, T, F, kCompares, false>,
          kRawOperands,
          nullptr,
          0,
          kAllTargets,
          &PrepareAtomic<B, T, F, kCompares>};
}
template <Base B, typename T>
constexpr Row LoadSmall(std::string_view mnemonic) {
  return {mnemonic, &ExecScalarLoadSmall<B, T>, kRawOperands, nullptr, 0, kGfx12Targets, &Prepare};
}
constexpr Row For(uint32_t targets, Row row) {
  row.targets = targets;
  return row;
}
constexpr Row Nothing(std::string_view mnemonic) {
  return {mnemonic, &ExecNothing, {}, nullptr, kNoEffect};
}

using B32 = uint32_t;
using B64 = uint64_t;
using enum Base;

constexpr Row kRows[] = {
    Load<kAddress, 1>("s_load_dword"),
    Load<kAddress, 2>("s_load_dwordx2"),
    Load<kAddress, 4>("s_load_dwordx4"),
    Load<kAddress, 8>("s_load_dwordx8"),
    Load<kAddress, 16>("s_load_dwordx16"),
    Load<kBuffer, 1>("s_buffer_load_dword"),
    Load<kBuffer, 2>("s_buffer_load_dwordx2"),
    Load<kBuffer, 4>("s_buffer_load_dwordx4"),
    Load<kBuffer, 8>("s_buffer_load_dwordx8"),
    Load<kBuffer, 16>("s_buffer_load_dwordx16"),
    Load<kScratch, 1>("s_scratch_load_dword"),
    Load<kScratch, 2>("s_scratch_load_dwordx2"),
    Load<kScratch, 4>("s_scratch_load_dwordx4"),
    Store<kAddress, 1>("s_store_dword"),
    Store<kAddress, 2>("s_store_dwordx2"),
    Store<kAddress, 4>("s_store_dwordx4"),
    Store<kBuffer, 1>("s_buffer_store_dword"),
    Store<kBuffer, 2>("s_buffer_store_dwordx2"),
    Store<kBuffer, 4>("s_buffer_store_dwordx4"),
    Store<kScratch, 1>("s_scratch_store_dword"),
    Store<kScratch, 2>("s_scratch_store_dwordx2"),
    Store<kScratch, 4>("s_scratch_store_dwordx4"),

    Atomic<kAddress, B32, kSwap<B32>>("s_atomic_swap"),
    Atomic<kAddress, B32, kCompareSwap<B32>, true>("s_atomic_cmpswap"),
    Atomic<kAddress, B32, kAdd<B32>>("s_atomic_add"),
    Atomic<kAddress, B32, kSub<B32>>("s_atomic_sub"),
    Atomic<kAddress, B32, kMinSigned<B32>>("s_atomic_smin"),
    Atomic<kAddress, B32, kMin<B32>>("s_atomic_umin"),
    Atomic<kAddress, B32, kMaxSigned<B32>>("s_atomic_smax"),
    Atomic<kAddress, B32, kMax<B32>>("s_atomic_umax"),
    Atomic<kAddress, B32, kAnd<B32>>("s_atomic_and"),
    Atomic<kAddress, B32, kOr<B32>>("s_atomic_or"),
    Atomic<kAddress, B32, kXor<B32>>("s_atomic_xor"),
    Atomic<kAddress, B32, kIncrement<B32>>("s_atomic_inc"),
    Atomic<kAddress, B32, kDecrement<B32>>("s_atomic_dec"),
    Atomic<kAddress, B64, kSwap<B64>>("s_atomic_swap_x2"),
    Atomic<kAddress, B64, kCompareSwap<B64>, true>("s_atomic_cmpswap_x2"),
    Atomic<kAddress, B64, kAdd<B64>>("s_atomic_add_x2"),
    Atomic<kAddress, B64, kSub<B64>>("s_atomic_sub_x2"),
    Atomic<kAddress, B64, kMinSigned<B64>>("s_atomic_smin_x2"),
    Atomic<kAddress, B64, kMin<B64>>("s_atomic_umin_x2"),
    Atomic<kAddress, B64, kMaxSigned<B64>>("s_atomic_smax_x2"),
    Atomic<kAddress, B64, kMax<B64>>("s_atomic_umax_x2"),
    Atomic<kAddress, B64, kAnd<B64>>("s_atomic_and_x2"),
    Atomic<kAddress, B64, kOr<B64>>("s_atomic_or_x2"),
    Atomic<kAddress, B64, kXor<B64>>("s_atomic_xor_x2"),
    Atomic<kAddress, B64, kIncrement<B64>>("s_atomic_inc_x2"),
    Atomic<kAddress, B64, kDecrement<B64>>("s_atomic_dec_x2"),

    Atomic<kBuffer, B32, kSwap<B32>>("s_buffer_atomic_swap"),
    Atomic<kBuffer, B32, kCompareSwap<B32>, true>("s_buffer_atomic_cmpswap"),
    Atomic<kBuffer, B32, kAdd<B32>>("s_buffer_atomic_add"),
    Atomic<kBuffer, B32, kSub<B32>>("s_buffer_atomic_sub"),
    Atomic<kBuffer, B32, kMinSigned<B32>>("s_buffer_atomic_smin"),
    Atomic<kBuffer, B32, kMin<B32>>("s_buffer_atomic_umin"),
    Atomic<kBuffer, B32, kMaxSigned<B32>>("s_buffer_atomic_smax"),
    Atomic<kBuffer, B32, kMax<B32>>("s_buffer_atomic_umax"),
    Atomic<kBuffer, B32, kAnd<B32>>("s_buffer_atomic_and"),
    Atomic<kBuffer, B32, kOr<B32>>("s_buffer_atomic_or"),
    Atomic<kBuffer, B32, kXor<B32>>("s_buffer_atomic_xor"),
    Atomic<kBuffer, B32, kIncrement<B32>>("s_buffer_atomic_inc"),
    Atomic<kBuffer, B32, kDecrement<B32>>("s_buffer_atomic_dec"),
    Atomic<kBuffer, B64, kSwap<B64>>("s_buffer_atomic_swap_x2"),
    Atomic<kBuffer, B64, kCompareSwap<B64>, true>("s_buffer_atomic_cmpswap_x2"),
    Atomic<kBuffer, B64, kAdd<B64>>("s_buffer_atomic_add_x2"),
    Atomic<kBuffer, B64, kSub<B64>>("s_buffer_atomic_sub_x2"),
    Atomic<kBuffer, B64, kMinSigned<B64>>("s_buffer_atomic_smin_x2"),
    Atomic<kBuffer, B64, kMin<B64>>("s_buffer_atomic_umin_x2"),
    Atomic<kBuffer, B64, kMaxSigned<B64>>("s_buffer_atomic_smax_x2"),
    Atomic<kBuffer, B64, kMax<B64>>("s_buffer_atomic_umax_x2"),
    Atomic<kBuffer, B64, kAnd<B64>>("s_buffer_atomic_and_x2"),
    Atomic<kBuffer, B64, kOr<B64>>("s_buffer_atomic_or_x2"),
    Atomic<kBuffer, B64, kXor<B64>>("s_buffer_atomic_xor_x2"),
    Atomic<kBuffer, B64, kIncrement<B64>>("s_buffer_atomic_inc_x2"),
    Atomic<kBuffer, B64, kDecrement<B64>>("s_buffer_atomic_dec_x2"),

    For(kGfx12Targets, Load<kAddress, 3>("s_load_b96")),
    For(kGfx12Targets, Load<kBuffer, 3>("s_buffer_load_b96")),
    LoadSmall<kAddress, uint8_t>("s_load_u8"),
    LoadSmall<kAddress, int8_t>("s_load_i8"),
    LoadSmall<kAddress, uint16_t>("s_load_u16"),
    LoadSmall<kAddress, int16_t>("s_load_i16"),
    LoadSmall<kBuffer, uint8_t>("s_buffer_load_u8"),
    LoadSmall<kBuffer, int8_t>("s_buffer_load_i8"),
    LoadSmall<kBuffer, uint16_t>("s_buffer_load_u16"),
    LoadSmall<kBuffer, int16_t>("s_buffer_load_i16"),

    {"s_memtime", &ExecTime, {Ty::kB64}},
    {"s_memrealtime", &ExecTime, {Ty::kB64}},
    Nothing("s_dcache_inv"),
    Nothing("s_dcache_inv_vol"),
    Nothing("s_dcache_wb"),
    Nothing("s_dcache_wb_vol"),
    Nothing("s_dcache_discard"),
    Nothing("s_dcache_discard_x2"),
    Nothing("s_gl1_inv"),
    Nothing("s_atc_probe"),
    Nothing("s_atc_probe_buffer"),
};

}  // namespace

std::span<const Row> ScalarMemoryRows() { return kRows; }

}  // namespace rochound::softgpu
