// SPDX-License-Identifier: MIT
//
// DS: local memory of a workgroup, and exchanges between lanes that use its crossbar. Addresses are
// 32-bit sums; an access that is not wholly inside of the workgroup's allocation reads zero or
// writes nothing. The waves of a workgroup run on one thread, so that no step here can be
// interrupted.
#include <immintrin.h>

#include <algorithm>
#include <array>

#include "softgpu/isa/semantics/atomic_ops.h"
#include "softgpu/isa/semantics/lane_memory.h"
#include "softgpu/isa/semantics/lds_address.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

using namespace atomic_ops;

constexpr uint8_t kZeros[kLaneBytes] = {};

// ---- Loads and stores ----

template <MemoryType M>
void LoadLds(Wave& wave, uint32_t base, const uint32_t* offset, uint64_t mask, uint32_t* dst) {
  bool all = mask == wave.full_exec;
  HostAddress host = reinterpret_cast<HostAddress>(wave.lds) + base;
  if constexpr (M.bytes <= 4) {
    if (all && IsConsecutive(offset, M.bytes, wave.lanes) &&
        uint64_t{base} + offset[wave.lanes - 1u] + M.bytes <= wave.lds_bytes) {
      LoadConsecutive<M>(HostPointer(host + offset[0]), wave.lanes, dst);
      return;
    }
  }
  OffsetRange range = RangeOf(offset, mask, all, wave.lanes);
  if (uint64_t{base} + range.max + M.bytes <= wave.lds_bytes) [[likely]] {
    LoadRows<M>(host, offset, mask, all, wave.lanes, dst);
    return;
  }
  ForEachLane(mask, [&](unsigned lane) {
    uint32_t at = base + offset[lane];
    bool inside = uint64_t{at} + M.bytes <= wave.lds_bytes;
    LoadLane<M>(inside ? wave.lds + at : kZeros, dst + lane);
  });
}

template <MemoryType M>
void StoreLds(Wave& wave, uint32_t base, const uint32_t* offset, uint64_t mask,
              const uint32_t* src) {
  bool all = mask == wave.full_exec;
  HostAddress host = reinterpret_cast<HostAddress>(wave.lds) + base;
  if constexpr (M.bytes <= 4) {
    if (all && IsConsecutive(offset, M.bytes, wave.lanes) &&
        uint64_t{base} + offset[wave.lanes - 1u] + M.bytes <= wave.lds_bytes) {
      StoreConsecutive<M>(HostPointer(host + offset[0]), wave.lanes, src);
      return;
    }
  }
  OffsetRange range = RangeOf(offset, mask, all, wave.lanes);
  if (uint64_t{base} + range.max + M.bytes <= wave.lds_bytes) [[likely]] {
    StoreRows<M>(host, offset, mask, all, wave.lanes, src);
    return;
  }
  ForEachLane(mask, [&](unsigned lane) {
    uint32_t at = base + offset[lane];
    if (uint64_t{at} + M.bytes <= wave.lds_bytes) StoreLane<M>(wave.lds + at, src + lane);
  });
}

// MemoryForm::scalar holds the second data register.
uint16_t SecondData(MemoryForm form) { return form.scalar; }

template <MemoryType M>
const Op* ExecRead(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  if (uint64_t mask = wave.exec(); mask != 0) {
    LoadLds<M>(wave, FirstOffset(op), wave.Row(form.address), mask, wave.Row(form.result));
    ClearOtherHalf<M>(wave, mask, wave.Row(form.result));
  }
  return op + 1;
}

template <MemoryType M>
const Op* ExecWrite(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  if (uint64_t mask = wave.exec(); mask != 0)
    StoreLds<M>(wave, FirstOffset(op), wave.Row(form.address), mask, wave.Row(form.data));
  return op + 1;
}

// Both offsets are in range for all lanes.
template <MemoryType M>
bool BothInside(const Wave& wave, const Op* op, const uint32_t* address, uint64_t mask) {
  OffsetRange range = RangeOf(address, mask, mask == wave.full_exec, wave.lanes);
  uint64_t furthest = std::max(FirstOffset(op), SecondOffset(op));
  return furthest + range.max + M.bytes <= wave.lds_bytes;
}

// The first half of the result may overwrite the address.
template <MemoryType M>
const Op* ExecRead2(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  const uint32_t* address = wave.Row(form.address);
  uint32_t* first = wave.Row(form.result);
  uint32_t* second = wave.Row(form.result + M.dwords());
  const uint8_t* host[2] = {wave.lds + FirstOffset(op), wave.lds + SecondOffset(op)};
  auto read = [&](unsigned lane) {
    uint32_t at = address[lane];
    LoadLane<M>(host[0] + at, first + lane);
    LoadLane<M>(host[1] + at, second + lane);
  };
  if (!BothInside<M>(wave, op, address, mask)) [[unlikely]] {
    alignas(64) uint32_t copy[kRowLanes];
    std::copy_n(address, wave.lanes, copy);
    LoadLds<M>(wave, FirstOffset(op), copy, mask, first);
    LoadLds<M>(wave, SecondOffset(op), copy, mask, second);
  } else if (mask == wave.full_exec) {
    for (unsigned lane = 0; lane < wave.lanes; ++lane) read(lane);
  } else {
    ForEachLane(mask, read);
  }
  return op + 1;
}

template <MemoryType M>
const Op* ExecWrite2(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  const uint32_t* address = wave.Row(form.address);
  StoreLds<M>(wave, FirstOffset(op), address, mask, wave.Row(form.data));
  StoreLds<M>(wave, SecondOffset(op), address, mask, wave.Row(SecondData(form)));
  return op + 1;
}

const Op* ExecReadAddThreadId(Wave& wave, const Op* op) {
  uint32_t base = FirstOffset(op) + (wave.sgpr[kM0] & 0xFFFF);
  if (uint64_t mask = wave.exec(); mask != 0) {
    LoadLds<kBits32>(wave, base, kLaneTimesFour.data(), mask, wave.Row(MemoryForm::Of(op).result));
  }
  return op + 1;
}
const Op* ExecWriteAddThreadId(Wave& wave, const Op* op) {
  uint32_t base = FirstOffset(op) + (wave.sgpr[kM0] & 0xFFFF);
  if (uint64_t mask = wave.exec(); mask != 0) {
    StoreLds<kBits32>(wave, base, kLaneTimesFour.data(), mask, wave.Row(MemoryForm::Of(op).data));
  }
  return op + 1;
}

// ---- Atomics ----

// LDS adds floats rounding to nearest whatever the mode says, but flushes denormals as it says.
class DenormalMode {
 public:
  DenormalMode(const Wave& wave, bool wide) {
    uint32_t allowed = wave.mode >> (wide ? 6 : 4) & 3;
    if (allowed == 3) [[likely]]
      return;
    saved_ = _mm_getcsr();
    _mm_setcsr((saved_ & ~0xE040u) | (allowed & 1 ? 0 : 0x0040u) | (allowed & 2 ? 0 : 0x8000u));
    changed_ = true;
  }
  ~DenormalMode() {
    if (changed_) [[unlikely]]
      _mm_setcsr(saved_);
  }
  DenormalMode(const DenormalMode&) = delete;
  DenormalMode& operator=(const DenormalMode&) = delete;

 private:
  bool changed_ = false;
  uint32_t saved_ = 0;
};

// False if the wave was stopped because a lane's address is not a multiple of the operand's size.
template <typename T>
bool CheckAligned(Wave& wave, const Op* op, const uint32_t* address, uint64_t mask,
                  uint32_t offset) {
  for (; mask != 0; mask &= mask - 1) {
    uint32_t at = address[std::countr_zero(mask)] + offset;
    if (at % sizeof(T) == 0) continue;
    StopMisaligned(wave, op, at);
    return false;
  }
  return true;
}

enum class Numbers : uint8_t { kBits, kReal, kSmall };

// old -> F(old, first data, second data).
template <typename T, auto F, bool kTwoData, Numbers N>
const Op* ExecAtomic(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  uint64_t mask = wave.exec();
  const uint32_t* address = wave.Row(form.address);
  if (!CheckAligned<T>(wave, op, address, mask, FirstOffset(op))) return nullptr;
  if (N == Numbers::kSmall && (wave.mode >> 4 & 0xF) != 0xF)
    return wave.StopIllegal(op, "not implemented: packed LDS addition with flushed denormals");
  const uint32_t* first = wave.Row(form.data);
  const uint32_t* second = kTwoData ? wave.Row(SecondData(form)) : nullptr;
  uint32_t* result = form.result == MemoryForm::kAbsent ? nullptr : wave.Row(form.result);
  auto run = [&] {
    ForEachLane(mask, [&](unsigned lane) {
      uint32_t at = address[lane] + FirstOffset(op);
      T old = 0;
      if (uint64_t{at} + sizeof(T) <= wave.lds_bytes) {
        old = UpdateExclusive<T, F>(wave.lds + at, GetElement<T>(first, lane),
                                    kTwoData ? GetElement<T>(second, lane) : T{0});
      }
      if (result != nullptr) PutElement<T>(result, lane, old);
    });
  };
  if constexpr (N == Numbers::kReal) {
    DenormalMode mode(wave, sizeof(T) == 8);
    run();
  } else {
    run();
  }
  return op + 1;
}

// Both old values are read before the first new one is written.
template <typename T>
const Op* ExecExchange2(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  uint64_t mask = wave.exec();
  const uint32_t* address = wave.Row(form.address);
  if (!CheckAligned<T>(wave, op, address, mask, FirstOffset(op)) ||
      !CheckAligned<T>(wave, op, address, mask, SecondOffset(op)))
    return nullptr;
  ForEachLane(mask, [&](unsigned lane) {
    uint32_t at[2] = {address[lane] + FirstOffset(op), address[lane] + SecondOffset(op)};
    T data[2] = {GetElement<T>(wave.Row(form.data), lane),
                 GetElement<T>(wave.Row(SecondData(form)), lane)};
    T old[2] = {};
    bool inside[2];
    for (unsigned i = 0; i < 2; ++i) {
      inside[i] = uint64_t{at[i]} + sizeof(T) <= wave.lds_bytes;
      if (inside[i]) old[i] = LoadElement<T>(wave.lds + at[i]);
    }
    for (unsigned i = 0; i < 2; ++i) {
      if (inside[i]) StoreElement(wave.lds + at[i], data[i]);
      PutElement<T>(wave.Row(form.result + i * static_cast<unsigned>(sizeof(T) / 4)), lane, old[i]);
    }
  });
  return op + 1;
}

// Each dword is replaced if the top bit of its data is set, without that bit.
const Op* ExecConditionalExchange(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  ForEachLane(wave.exec(), [&](unsigned lane) {
    uint32_t at = (wave.Row(form.address)[lane] + FirstOffset(op)) & 0xFFF8;
    uint64_t data = GetElement<uint64_t>(wave.Row(form.data), lane);
    uint64_t old = 0;
    if (at + 8 <= wave.lds_bytes) {
      old = LoadElement<uint64_t>(wave.lds + at);
      for (unsigned i = 0; i < 2; ++i) {
        uint32_t part = static_cast<uint32_t>(data >> (32 * i));
        if (part >> 31) StoreElement(wave.lds + at + 4 * i, part & 0x7FFFFFFF);
      }
    }
    PutElement<uint64_t>(wave.Row(form.result), lane, old);
  });
  return op + 1;
}

// A counter goes up or down by the number of active lanes; all of them get its old value.
template <int kSign>
const Op* ExecCount(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  uint32_t at = (wave.sgpr[kM0] & 0xFFFF) + FirstOffset(op);
  if (at % 4 != 0) return StopMisaligned(wave, op, at);
  uint32_t old = 0;
  if (at + 4 <= wave.lds_bytes) {
    old = LoadElement<uint32_t>(wave.lds + at);
    uint32_t count = static_cast<uint32_t>(std::popcount(mask));
    StoreElement(wave.lds + at, kSign > 0 ? old + count : old - count);
  }
  uint32_t* result = wave.Row(MemoryForm::Of(op).result);
  ForEachLane(mask, [&](unsigned lane) { result[lane] = old; });
  return op + 1;
}

// ---- Exchanges between lanes ----

// Lanes that are off give zero and receive nothing. `from` names the lane that a lane reads.
template <typename From>
void Gather(Wave& wave, const uint32_t* source, uint32_t* dst, From&& from) {
  uint64_t mask = wave.exec();
  alignas(64) uint32_t copy[kRowLanes];
  for (unsigned i = 0; i < wave.lanes; ++i) copy[i] = mask >> i & 1 ? source[i] : 0;
  if (mask == wave.full_exec) {
    for (unsigned i = 0; i < wave.lanes; ++i) dst[i] = copy[from(i)];
  } else {
    ForEachLane(mask, [&](unsigned i) { dst[i] = copy[from(i)]; });
  }
}

// How many lanes reach each other: gfx10 and gfx11 treat the halves of a wave64 apart.
unsigned CrossbarLanes(const Wave& wave) {
  return wave.architecture->bit & (kGfx10Targets | kGfx11Targets) ? 32 : wave.lanes;
}

const Op* ExecPermuteBackward(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  const uint32_t* address = wave.Row(form.address);
  unsigned reach = CrossbarLanes(wave);
  uint32_t offset = FirstOffset(op);
  Gather(wave, wave.Row(form.data), wave.Row(form.result), [=](unsigned lane) {
    return (lane & ~(reach - 1)) | ((address[lane] + offset) / 4 & (reach - 1));
  });
  return op + 1;
}

// Lanes that are off give their value, too.
const Op* ExecPermuteBackwardFromAll(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  const uint32_t* address = wave.Row(form.address);
  uint32_t offset = FirstOffset(op);
  alignas(64) uint32_t copy[kRowLanes];
  std::copy_n(wave.Row(form.data), wave.lanes, copy);
  uint32_t* dst = wave.Row(form.result);
  ForEachLane(wave.exec(), [&](unsigned lane) {
    dst[lane] = copy[(address[lane] + offset) / 4 & (wave.lanes - 1u)];
  });
  return op + 1;
}

const Op* ExecPermuteForward(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  const uint32_t* address = wave.Row(form.address);
  const uint32_t* data = wave.Row(form.data);
  unsigned reach = CrossbarLanes(wave);
  uint64_t mask = wave.exec();
  std::array<uint32_t, kRowLanes> sent{};
  ForEachLane(mask, [&](unsigned lane) {
    uint32_t to = (address[lane] + FirstOffset(op)) / 4 & (reach - 1);
    sent[(lane & ~(reach - 1)) | to] = data[lane];
  });
  uint32_t* dst = wave.Row(form.result);
  ForEachLane(mask, [&](unsigned lane) { dst[lane] = sent[lane]; });
  return op + 1;
}

// The lane that `lane` reads under the pattern in a swizzle's offset field. Patterns never cross a
// border of 32 lanes.
unsigned SwizzleSource(uint32_t pattern, unsigned lane) {
  unsigned group = lane & 0x20;
  unsigned in_group = lane & 0x1F;
  unsigned mask = pattern & 0x1F;
  if (pattern >= 0xE000) {  // FFT
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 5; ++bit) reversed |= (in_group >> bit & 1) << (4 - bit);
    return group | reversed >> std::popcount(mask) | (in_group & mask);
  }
  if (pattern >= 0xC000) {  // rotation of what the mask does not hold fast
    unsigned distance = pattern >> 5 & 0x1F;
    if (pattern >> 10 & 1) distance = 0u - distance;
    return group | (in_group & mask) | ((in_group + distance) & ~mask & 0x1F);
  }
  if (pattern >= 0x8000) return (lane & ~3u) | (pattern >> (2 * (lane & 3)) & 3);  // within quads
  return group | (((in_group & mask) | (pattern >> 5 & 0x1F)) ^ (pattern >> 10 & 0x1F));
}

const Op* ExecSwizzle(Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  uint32_t pattern = op->source->words[0] & 0xFFFF;
  Gather(wave, wave.Row(form.address), wave.Row(form.result),
         [=](unsigned lane) { return SwizzleSource(pattern, lane); });
  return op + 1;
}

// ---- Others ----

const Op* ExecNothing(Wave&, const Op* op) { return op + 1; }

// The machine knows which of the instructions it is from the op, and stops the wave if it must
// wait. With no lane active nobody takes part.
const Op* ExecGlobalWaveSync(Wave& wave, const Op* op) {
  uint64_t exec = wave.exec();
  if (exec == 0) return op + 1;
  const Operand& operand = op->operand[0];
  uint32_t value =
      operand.kind == Operand::Kind::kVector ? wave.Row(operand.index)[std::countr_zero(exec)] : 0;
  if (!wave.environment->GlobalWaveSync(wave, op, value))
    return wave.StopIllegal(op, "not implemented: global wave sync on this device");
  return wave.stop == StopReason::kNone ? op + 1 : nullptr;
}

// ---- Decoding ----

// Which operands a form has, in the order of the text.
struct LdsForm {
  bool result = false;
  bool address = true;
  uint8_t data = 0;
  uint16_t unit = 0;  // bytes per step of offset0 and offset1; 0: one offset
};

template <LdsForm kForm>
bool Prepare(const AsmInstruction& instruction, const Architecture&, Op* op, std::string* why) {
  const Modifiers& m = instruction.modifiers;
  if (m.gds) {
    *why = "gds";
    return false;
  }
  uint32_t steps = kForm.unit;
  op->imm = steps == 0
                ? m.offset
                : static_cast<int64_t>(m.offset0 * steps | uint64_t{m.offset1 * steps} << 32);
  MemoryForm form;
  unsigned next = 0;
  auto take = [&](uint16_t* row) {
    if (next >= op->operand_count || op->operand[next].kind != Operand::Kind::kVector) return false;
    *row = op->operand[next++].index;
    return true;
  };
  bool good = (!kForm.result || take(&form.result)) && (!kForm.address || take(&form.address)) &&
              (kForm.data < 1 || take(&form.data)) && (kForm.data < 2 || take(&form.scalar));
  if (!good || next != op->operand_count) {
    *why = "operands";
    return false;
  }
  form.Store(op);
  return true;
}

// ---- Rows ----

constexpr std::array<Ty, kMaxOperands> kRawOperands = {Ty::kRaw, Ty::kRaw, Ty::kRaw, Ty::kRaw};

template <LdsForm kForm>
constexpr Row Make(std::string_view mnemonic, Exec exec) {
  return {mnemonic, exec, kRawOperands, nullptr, 0, kAllTargets, &Prepare<kForm>};
}

template <MemoryType M>
constexpr Row Read(std::string_view mnemonic) {
  return Make<LdsForm{.result = true}>(mnemonic, &ExecRead<M>);
}
template <MemoryType M>
constexpr Row Write(std::string_view mnemonic) {
  return Make<LdsForm{.data = 1}>(mnemonic, &ExecWrite<M>);
}
// kStep is 64 for the "st64" forms, else 1.
template <MemoryType M, uint16_t kStep>
constexpr Row Read2(std::string_view mnemonic) {
  return Make<LdsForm{.result = true, .unit = M.bytes * kStep}>(mnemonic, &ExecRead2<M>);
}
template <MemoryType M, uint16_t kStep>
constexpr Row Write2(std::string_view mnemonic) {
  return Make<LdsForm{.data = 2, .unit = M.bytes * kStep}>(mnemonic, &ExecWrite2<M>);
}
template <typename T, uint16_t kStep>
constexpr Row Exchange2(std::string_view mnemonic) {
  return Make<LdsForm{.result = true, .data = 2, .unit = sizeof(T) * kStep}>(mnemonic,
                                                                             &ExecExchange2<T>);
}
template <typename T, auto F, Numbers N = Numbers::kBits>
constexpr Row Atomic(std::string_view mnemonic) {
  return Make<LdsForm{.data = 1}>(mnemonic, &ExecAtomic<T, F, false, N>);
}
template <typename T, auto F, Numbers N = Numbers::kBits>
constexpr Row AtomicReturn(std::string_view mnemonic) {
  return Make<LdsForm{.result = true, .data = 1}>(mnemonic, &ExecAtomic<T, F, false, N>);
}
template <typename T, auto F, Numbers N = Numbers::kBits>
constexpr Row Atomic2(std::string_view mnemonic) {
  return Make<LdsForm{.data = 2}>(mnemonic, &ExecAtomic<T, F, true, N>);
}
template <typename T, auto F, Numbers N = Numbers::kBits>
constexpr Row Atomic2Return(std::string_view mnemonic) {
  return Make<LdsForm{.result = true, .data = 2}>(mnemonic, &ExecAtomic<T, F, true, N>);
}
template <LdsForm kForm>
constexpr Row MakeFor(uint32_t targets, std::string_view mnemonic, Exec exec) {
  Row row = Make<kForm>(mnemonic, exec);
  row.targets = targets;
  return row;
}
constexpr Row WaveSync(std::string_view mnemonic) {
  return {mnemonic, &ExecGlobalWaveSync, {Ty::kRaw}};
}

// Here the value to compare with comes first.
template <typename T>
constexpr auto kCompareStore =
    [](T old, T compare, T data) -> T { return kCompareSwap<T>(old, data, compare); };
template <typename T>
constexpr auto kCompareStoreReal =
    [](T old, T compare, T data) -> T { return kCompareSwapReal<T>(old, data, compare); };

constexpr uint32_t kSinceGfx11 = kGfx11Targets | kGfx12Targets;

using B32 = uint32_t;
using B64 = uint64_t;
using enum Numbers;

constexpr Row kRows[] = {
    Read<kUnsigned8>("ds_read_u8"),
    Read<kSigned8>("ds_read_i8"),
    Read<kUnsigned16>("ds_read_u16"),
    Read<kSigned16>("ds_read_i16"),
    Read<kBits32>("ds_read_b32"),
    Read<kBits64>("ds_read_b64"),
    Read<kBits96>("ds_read_b96"),
    Read<kBits128>("ds_read_b128"),
    Read<kUnsigned8Low>("ds_read_u8_d16"),
    Read<kUnsigned8High>("ds_read_u8_d16_hi"),
    Read<kSigned8Low>("ds_read_i8_d16"),
    Read<kSigned8High>("ds_read_i8_d16_hi"),
    Read<kBits16Low>("ds_read_u16_d16"),
    Read<kBits16High>("ds_read_u16_d16_hi"),
    Write<kUnsigned8>("ds_write_b8"),
    Write<kUnsigned8High>("ds_write_b8_d16_hi"),
    Write<kUnsigned16>("ds_write_b16"),
    Write<kBits16High>("ds_write_b16_d16_hi"),
    Write<kBits32>("ds_write_b32"),
    Write<kBits64>("ds_write_b64"),
    Write<kBits96>("ds_write_b96"),
    Write<kBits128>("ds_write_b128"),
    Read2<kBits32, 1>("ds_read2_b32"),
    Read2<kBits64, 1>("ds_read2_b64"),
    Read2<kBits32, 64>("ds_read2st64_b32"),
    Read2<kBits64, 64>("ds_read2st64_b64"),
    Write2<kBits32, 1>("ds_write2_b32"),
    Write2<kBits64, 1>("ds_write2_b64"),
    Write2<kBits32, 64>("ds_write2st64_b32"),
    Write2<kBits64, 64>("ds_write2st64_b64"),
    Make<LdsForm{.result = true, .address = false}>("ds_read_addtid_b32", &ExecReadAddThreadId),
    Make<LdsForm{.address = false, .data = 1}>("ds_write_addtid_b32", &ExecWriteAddThreadId),

    Atomic<B32, kAdd<B32>>("ds_add_u32"),
    AtomicReturn<B32, kAdd<B32>>("ds_add_rtn_u32"),
    Atomic<B32, kSub<B32>>("ds_sub_u32"),
    AtomicReturn<B32, kSub<B32>>("ds_sub_rtn_u32"),
    Atomic<B32, kReverseSub<B32>>("ds_rsub_u32"),
    AtomicReturn<B32, kReverseSub<B32>>("ds_rsub_rtn_u32"),
    Atomic<B32, kIncrement<B32>>("ds_inc_u32"),
    AtomicReturn<B32, kIncrement<B32>>("ds_inc_rtn_u32"),
    Atomic<B32, kDecrement<B32>>("ds_dec_u32"),
    AtomicReturn<B32, kDecrement<B32>>("ds_dec_rtn_u32"),
    Atomic<B32, kMinSigned<B32>>("ds_min_i32"),
    AtomicReturn<B32, kMinSigned<B32>>("ds_min_rtn_i32"),
    Atomic<B32, kMaxSigned<B32>>("ds_max_i32"),
    AtomicReturn<B32, kMaxSigned<B32>>("ds_max_rtn_i32"),
    Atomic<B32, kMin<B32>>("ds_min_u32"),
    AtomicReturn<B32, kMin<B32>>("ds_min_rtn_u32"),
    Atomic<B32, kMax<B32>>("ds_max_u32"),
    AtomicReturn<B32, kMax<B32>>("ds_max_rtn_u32"),
    Atomic<B32, kAnd<B32>>("ds_and_b32"),
    AtomicReturn<B32, kAnd<B32>>("ds_and_rtn_b32"),
    Atomic<B32, kOr<B32>>("ds_or_b32"),
    AtomicReturn<B32, kOr<B32>>("ds_or_rtn_b32"),
    Atomic<B32, kXor<B32>>("ds_xor_b32"),
    AtomicReturn<B32, kXor<B32>>("ds_xor_rtn_b32"),
    Atomic<B32, kAddReal<B32>, kReal>("ds_add_f32"),
    AtomicReturn<B32, kAddReal<B32>, kReal>("ds_add_rtn_f32"),
    Atomic<B32, kMinReal<B32>, kReal>("ds_min_f32"),
    AtomicReturn<B32, kMinReal<B32>, kReal>("ds_min_rtn_f32"),
    Atomic<B32, kMaxReal<B32>, kReal>("ds_max_f32"),
    AtomicReturn<B32, kMaxReal<B32>, kReal>("ds_max_rtn_f32"),
    Atomic2<B32, kMaskOr<B32>>("ds_mskor_b32"),
    Atomic2Return<B32, kMaskOr<B32>>("ds_mskor_rtn_b32"),
    Atomic2<B32, kCompareStore<B32>>("ds_cmpst_b32"),
    Atomic2Return<B32, kCompareStore<B32>>("ds_cmpst_rtn_b32"),
    Atomic2<B32, kCompareStoreReal<B32>, kReal>("ds_cmpst_f32"),
    Atomic2Return<B32, kCompareStoreReal<B32>, kReal>("ds_cmpst_rtn_f32"),
    AtomicReturn<B32, kSwap<B32>>("ds_wrxchg_rtn_b32"),
    Exchange2<B32, 1>("ds_wrxchg2_rtn_b32"),
    Exchange2<B32, 64>("ds_wrxchg2st64_rtn_b32"),

    Atomic<B64, kAdd<B64>>("ds_add_u64"),
    AtomicReturn<B64, kAdd<B64>>("ds_add_rtn_u64"),
    Atomic<B64, kSub<B64>>("ds_sub_u64"),
    AtomicReturn<B64, kSub<B64>>("ds_sub_rtn_u64"),
    Atomic<B64, kReverseSub<B64>>("ds_rsub_u64"),
    AtomicReturn<B64, kReverseSub<B64>>("ds_rsub_rtn_u64"),
    Atomic<B64, kIncrement<B64>>("ds_inc_u64"),
    AtomicReturn<B64, kIncrement<B64>>("ds_inc_rtn_u64"),
    Atomic<B64, kDecrement<B64>>("ds_dec_u64"),
    AtomicReturn<B64, kDecrement<B64>>("ds_dec_rtn_u64"),
    Atomic<B64, kMinSigned<B64>>("ds_min_i64"),
    AtomicReturn<B64, kMinSigned<B64>>("ds_min_rtn_i64"),
    Atomic<B64, kMaxSigned<B64>>("ds_max_i64"),
    AtomicReturn<B64, kMaxSigned<B64>>("ds_max_rtn_i64"),
    Atomic<B64, kMin<B64>>("ds_min_u64"),
    AtomicReturn<B64, kMin<B64>>("ds_min_rtn_u64"),
    Atomic<B64, kMax<B64>>("ds_max_u64"),
    AtomicReturn<B64, kMax<B64>>("ds_max_rtn_u64"),
    Atomic<B64, kAnd<B64>>("ds_and_b64"),
    AtomicReturn<B64, kAnd<B64>>("ds_and_rtn_b64"),
    Atomic<B64, kOr<B64>>("ds_or_b64"),
    AtomicReturn<B64, kOr<B64>>("ds_or_rtn_b64"),
    Atomic<B64, kXor<B64>>("ds_xor_b64"),
    AtomicReturn<B64, kXor<B64>>("ds_xor_rtn_b64"),
    Atomic<B64, kAddReal<B64>, kReal>("ds_add_f64"),
    AtomicReturn<B64, kAddReal<B64>, kReal>("ds_add_rtn_f64"),
    Atomic<B64, kMinReal<B64>, kReal>("ds_min_f64"),
    AtomicReturn<B64, kMinReal<B64>, kReal>("ds_min_rtn_f64"),
    Atomic<B64, kMaxReal<B64>, kReal>("ds_max_f64"),
    AtomicReturn<B64, kMaxReal<B64>, kReal>("ds_max_rtn_f64"),
    Atomic2<B64, kMaskOr<B64>>("ds_mskor_b64"),
    Atomic2Return<B64, kMaskOr<B64>>("ds_mskor_rtn_b64"),
    Atomic2<B64, kCompareStore<B64>>("ds_cmpst_b64"),
    Atomic2Return<B64, kCompareStore<B64>>("ds_cmpst_rtn_b64"),
    Atomic2<B64, kCompareStoreReal<B64>, kReal>("ds_cmpst_f64"),
    Atomic2Return<B64, kCompareStoreReal<B64>, kReal>("ds_cmpst_rtn_f64"),
    AtomicReturn<B64, kSwap<B64>>("ds_wrxchg_rtn_b64"),
    Exchange2<B64, 1>("ds_wrxchg2_rtn_b64"),
    Exchange2<B64, 64>("ds_wrxchg2st64_rtn_b64"),

    Atomic<B32, kAddTwoHalves, kSmall>("ds_pk_add_f16"),
    AtomicReturn<B32, kAddTwoHalves, kSmall>("ds_pk_add_rtn_f16"),
    Atomic<B32, kAddTwoBrains, kSmall>("ds_pk_add_bf16"),
    AtomicReturn<B32, kAddTwoBrains, kSmall>("ds_pk_add_rtn_bf16"),
    Atomic2Return<B32, kWrap<B32>>("ds_wrap_rtn_b32"),
    Make<LdsForm{.result = true, .data = 1}>("ds_condxchg32_rtn_b64", &ExecConditionalExchange),
    Make<LdsForm{.result = true, .address = false}>("ds_append", &ExecCount<1>),
    Make<LdsForm{.result = true, .address = false}>("ds_consume", &ExecCount<-1>),

    Make<LdsForm{.result = true, .data = 1}>("ds_permute_b32", &ExecPermuteForward),
    Make<LdsForm{.result = true, .data = 1}>("ds_bpermute_b32", &ExecPermuteBackward),
    Make<LdsForm{.result = true}>("ds_swizzle_b32", &ExecSwizzle),

    // Since gfx11 the new value comes first.
    MakeFor<LdsForm{.data = 2}>(kSinceGfx11, "ds_cmpstore_b32",
                                &ExecAtomic<B32, kCompareSwap<B32>, true, kBits>),
    MakeFor<LdsForm{.data = 2}>(kSinceGfx11, "ds_cmpstore_b64",
                                &ExecAtomic<B64, kCompareSwap<B64>, true, kBits>),
    MakeFor<LdsForm{.result = true, .data = 2}>(kSinceGfx11, "ds_cmpstore_rtn_b32",
                                                &ExecAtomic<B32, kCompareSwap<B32>, true, kBits>),
    MakeFor<LdsForm{.result = true, .data = 2}>(kSinceGfx11, "ds_cmpstore_rtn_b64",
                                                &ExecAtomic<B64, kCompareSwap<B64>, true, kBits>),
    MakeFor<LdsForm{.data = 2}>(kGfx11Targets, "ds_cmpstore_f32",
                                &ExecAtomic<B32, kCompareSwapReal<B32>, true, kReal>),
    MakeFor<LdsForm{.data = 2}>(kGfx11Targets, "ds_cmpstore_f64",
                                &ExecAtomic<B64, kCompareSwapReal<B64>, true, kReal>),
    MakeFor<LdsForm{.result = true, .data = 2}>(
        kGfx11Targets, "ds_cmpstore_rtn_f32", &ExecAtomic<B32, kCompareSwapReal<B32>, true, kReal>),
    MakeFor<LdsForm{.result = true, .data = 2}>(
        kGfx11Targets, "ds_cmpstore_rtn_f64", &ExecAtomic<B64, kCompareSwapReal<B64>, true, kReal>),
    MakeFor<LdsForm{.data = 1}>(kGfx12Targets, "ds_cond_sub_u32",
                                &ExecAtomic<B32, kConditionalSub<B32>, false, kBits>),
    MakeFor<LdsForm{.result = true, .data = 1}>(
        kGfx12Targets, "ds_cond_sub_rtn_u32", &ExecAtomic<B32, kConditionalSub<B32>, false, kBits>),
    MakeFor<LdsForm{.data = 1}>(kGfx12Targets, "ds_sub_clamp_u32",
                                &ExecAtomic<B32, kClampSub<B32>, false, kBits>),
    MakeFor<LdsForm{.result = true, .data = 1}>(kGfx12Targets, "ds_sub_clamp_rtn_u32",
                                                &ExecAtomic<B32, kClampSub<B32>, false, kBits>),
    MakeFor<LdsForm{.result = true, .data = 1}>(kGfx12Targets, "ds_bpermute_fi_b32",
                                                &ExecPermuteBackwardFromAll),

    {"ds_nop", &ExecNothing, {}, nullptr, kNoEffect},
    WaveSync("ds_gws_init"),
    WaveSync("ds_gws_barrier"),
    WaveSync("ds_gws_sema_v"),
    WaveSync("ds_gws_sema_br"),
    WaveSync("ds_gws_sema_p"),
    WaveSync("ds_gws_sema_release_all"),
};

}  // namespace

std::span<const Row> LdsRows() { return kRows; }

}  // namespace rochound::softgpu
