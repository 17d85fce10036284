// SPDX-License-Identifier: MIT
//
// MUBUF loads, stores and atomics of plain data, and its cache controls. Typed accesses are in
// buffer_format.cpp.
#include <algorithm>
#include <array>
#include <vector>

#include "softgpu/isa/semantics/atomic_ops.h"
#include "softgpu/isa/semantics/buffer_memory.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

using namespace atomic_ops;

// ---- Loads and stores ----

template <MemoryType M>
[[gnu::noinline]] bool LoadBufferSlow(Wave& wave, const Op* op, const BufferAccess& access,
                                      uint64_t mask, uint32_t* dst) {
  LaneBytes bytes;
  uint64_t in_range;
  if (!ReadBuffer(wave, op, access, mask, M.bytes, false, &bytes, &in_range)) return false;
  LoadRows<M>(bytes.host(), LaneBytesOffsets(), mask, false, wave.lanes, dst);
  return true;
}
template <MemoryType M>
[[gnu::noinline]] bool StoreBufferSlow(Wave& wave, const Op* op, const BufferAccess& access,
                                       uint64_t mask, const uint32_t* src) {
  LaneBytes bytes;
  StoreRows<M>(bytes.host(), LaneBytesOffsets(), mask, false, wave.lanes, src);
  return WriteBuffer(wave, op, access, mask, M.bytes, false, bytes);
}

// Where the lanes' first dwords are, if all dwords of all lanes are in one region.
template <MemoryType M>
HostAddress SwizzledHost(Wave& wave, const LaneAddresses& addresses, uint64_t mask, uint32_t step,
                         uint8_t access) {
  OffsetRange range = RangeOf(addresses.offset, mask, mask == wave.full_exec, wave.lanes);
  uint64_t last = uint64_t{range.max} + (M.dwords() - 1) * step;
  if (last > UINT32_MAX) return 0;
  range.max = static_cast<uint32_t>(last);
  return HostBase(wave, addresses.base, range, std::min<unsigned>(M.bytes, 4), access);
}

template <MemoryType M>
bool LoadBuffer(Wave& wave, const Op* op, uint64_t mask, const BufferAccess& access,
                uint32_t* dst) {
  alignas(64) uint32_t storage[kRowLanes];
  LaneAddresses addresses;
  uint32_t step;
  if (!NarrowBuffer(wave, access, mask, M.bytes, storage, &addresses, &step)) [[unlikely]]
    return LoadBufferSlow<M>(wave, op, access, mask, dst);
  if (M.bytes <= 4 || step == 4) return LoadGlobal<M>(wave, op, addresses, mask, dst);
  HostAddress host = SwizzledHost<M>(wave, addresses, mask, step, kRead);
  if (host == 0) return LoadBufferSlow<M>(wave, op, access, mask, dst);
  if (addresses.offset != storage) {  // a lane's data may overwrite the offsets
    std::copy_n(addresses.offset, wave.lanes, storage);
  }
  for (unsigned k = 0; k < M.dwords(); ++k) {
    LoadRows<kBits32>(host + k * step, storage, mask, mask == wave.full_exec, wave.lanes,
                      dst + k * kRowLanes);
  }
  return true;
}

template <MemoryType M>
const Op* ExecLoad(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  BufferAccess access = BufferAccess::Of(wave, op);
  uint32_t* dst = wave.Row(access.data);
  if (!LoadBuffer<M>(wave, op, mask, access, dst)) return nullptr;
  ClearOtherHalf<M>(wave, mask, dst);
  return op + 1;
}

template <MemoryType M>
const Op* ExecLoadToLds(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  BufferAccess access = BufferAccess::Of(wave, op);
  alignas(64) uint32_t loaded[M.dwords() * kRowLanes];
  if (!LoadBuffer<M>(wave, op, mask, access, loaded)) return nullptr;
  StoreLoadedToLds(wave, access.fixed_offset, mask, M.dwords(), loaded);
  return op + 1;
}

template <MemoryType M>
const Op* ExecStore(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  BufferAccess access = BufferAccess::Of(wave, op);
  const uint32_t* src = wave.Row(access.data);
  alignas(64) uint32_t storage[kRowLanes];
  LaneAddresses addresses;
  uint32_t step;
  if (NarrowBuffer(wave, access, mask, M.bytes, storage, &addresses, &step)) [[likely]] {
    if (M.bytes <= 4 || step == 4)
      return StoreGlobal<M>(wave, op, addresses, mask, src) ? op + 1 : nullptr;
    if (HostAddress host = SwizzledHost<M>(wave, addresses, mask, step, kWrite); host != 0) {
      for (unsigned k = 0; k < M.dwords(); ++k) {
        StoreRows<kBits32>(host + k * step, addresses.offset, mask, mask == wave.full_exec,
                           wave.lanes, src + k * kRowLanes);
      }
      return op + 1;
    }
  }
  return StoreBufferSlow<M>(wave, op, access, mask, src) ? op + 1 : nullptr;
}

// ---- Atomics ----

// The data registers hold the new value, then the one to compare with; the old value replaces the
// first if it is returned. Out of range it is zero.
template <typename T, auto F, bool kCompares, bool kReturns>
const Op* ExecAtomic(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  BufferAccess access = BufferAccess::Of(wave, op);
  AtomicPlace places[kRowLanes];
  for (uint64_t left = mask; left != 0; left &= left - 1) {
    unsigned lane = static_cast<unsigned>(std::countr_zero(left));
    uint32_t index = access.IndexOf(lane);
    uint64_t offset = access.OffsetOf(lane);
    if (!access.InRange(index, offset)) continue;
    if (sizeof(T) > 4 && access.descriptor.swizzled)
      return wave.StopIllegal(op, "not implemented: 64-bit atomic on a swizzled buffer");
    uint64_t address = access.descriptor.base + access.scalar_offset + access.Place(index, offset);
    if (!FindAtomicPlace(wave, op, AddressKind::kGlobal, address, lane, sizeof(T), &places[lane]))
      return nullptr;
  }
  uint32_t* data = wave.Row(access.data);
  const uint32_t* compare = data + sizeof(T) / 4 * kRowLanes;
  ForEachLane(mask, [&](unsigned lane) {
    T old = 0;
    if (places[lane].host != nullptr) {
      old = UpdateShared<T, F>(places[lane].host, GetElement<T>(data, lane),
                               kCompares ? GetElement<T>(compare, lane) : T{0});
    }
    if (kReturns) PutElement<T>(data, lane, old);
  });
  return op + 1;
}

const Op* ExecNothing(Wave&, const Op* op) { return op + 1; }

// ---- Rows ----

template <bool kToLds>
bool Prepare(const AsmInstruction& instruction, const Architecture&, Op* op, std::string* why) {
  return PrepareBuffer(instruction, kToLds, op, why);
}

template <MemoryType M>
bool PrepareLoadMaybeToLds(const AsmInstruction& instruction, const Architecture&, Op* op,
                           std::string* why) {
  if (instruction.modifiers.lds) op->exec = &ExecLoadToLds<M>;
  return PrepareBuffer(instruction, instruction.modifiers.lds, op, why);
}

template <typename T, auto F, bool kCompares>
bool PrepareAtomic(const AsmInstruction& instruction, const Architecture&, Op* op,
                   std::string* why) {
  if (instruction.modifiers.glc) op->exec = &ExecAtomic<T, F, kCompares, true>;
  return PrepareBuffer(instruction, false, op, why);
}

constexpr std::array<Ty, kMaxOperands> kRawOperands = {Ty::kRaw, Ty::kRaw, Ty::kRaw, Ty::kRaw};

template <MemoryType M>
constexpr Row Load(std::string_view mnemonic) {
  return {mnemonic, &ExecLoad<M>, kRawOperands, nullptr, 0, kAllTargets, &Prepare<false>};
}
template <MemoryType M>
constexpr Row LoadMaybeToLds(std::string_view mnemonic) {
  return {mnemonic, &ExecLoad<M>, kRawOperands, nullptr, 0, kAllTargets, &PrepareLoadMaybeToLds<M>};
}
template <MemoryType M>
constexpr Row Store(std::string_view mnemonic) {
  return {mnemonic, &ExecStore<M>, kRawOperands, nullptr, 0, kAllTargets, &Prepare<false>};
}
template <typename T, auto F, bool kCompares = false>
constexpr Row Atomic(std::string_view mnemonic) {
  return {mnemonic,    &ExecAtomic<T, F, kCompares, false>, kRawOperands, nullptr, 0,
          kAllTargets, &PrepareAtomic<T, F, kCompares>};
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

constexpr Row kRows[] = {
    LoadMaybeToLds<kUnsigned8>("buffer_load_ubyte"),
    LoadMaybeToLds<kSigned8>("buffer_load_sbyte"),
    LoadMaybeToLds<kUnsigned16>("buffer_load_ushort"),
    LoadMaybeToLds<kSigned16>("buffer_load_sshort"),
    LoadMaybeToLds<kBits32>("buffer_load_dword"),
    Load<kBits64>("buffer_load_dwordx2"),
    LoadMaybeToLds<kBits96>("buffer_load_dwordx3"),
    LoadMaybeToLds<kBits128>("buffer_load_dwordx4"),
    Load<kUnsigned8Low>("buffer_load_ubyte_d16"),
    Load<kUnsigned8High>("buffer_load_ubyte_d16_hi"),
    Load<kSigned8Low>("buffer_load_sbyte_d16"),
    Load<kSigned8High>("buffer_load_sbyte_d16_hi"),
    Load<kBits16Low>("buffer_load_short_d16"),
    Load<kBits16High>("buffer_load_short_d16_hi"),
    Store<kUnsigned8>("buffer_store_byte"),
    Store<kUnsigned8High>("buffer_store_byte_d16_hi"),
    Store<kUnsigned16>("buffer_store_short"),
    Store<kBits16High>("buffer_store_short_d16_hi"),
    Store<kBits32>("buffer_store_dword"),
    Store<kBits64>("buffer_store_dwordx2"),
    Store<kBits96>("buffer_store_dwordx3"),
    Store<kBits128>("buffer_store_dwordx4"),

    For(kGfx12Targets, Atomic<B32, kConditionalSub<B32>>("buffer_atomic_cond_sub_u32")),
    Atomic<B32, kSwap<B32>>("buffer_atomic_swap"),
    Atomic<B32, kCompareSwap<B32>, true>("buffer_atomic_cmpswap"),
    Atomic<B32, kAdd<B32>>("buffer_atomic_add"),
    Atomic<B32, kSub<B32>>("buffer_atomic_sub"),
    Atomic<B32, kMinSigned<B32>>("buffer_atomic_smin"),
    Atomic<B32, kMin<B32>>("buffer_atomic_umin"),
    Atomic<B32, kMaxSigned<B32>>("buffer_atomic_smax"),
    Atomic<B32, kMax<B32>>("buffer_atomic_umax"),
    Atomic<B32, kAnd<B32>>("buffer_atomic_and"),
    Atomic<B32, kOr<B32>>("buffer_atomic_or"),
    Atomic<B32, kXor<B32>>("buffer_atomic_xor"),
    Atomic<B32, kIncrement<B32>>("buffer_atomic_inc"),
    Atomic<B32, kDecrement<B32>>("buffer_atomic_dec"),
    Atomic<B32, kCompareSwapReal<B32>, true>("buffer_atomic_fcmpswap"),
    Atomic<B32, kMinReal<B32>>("buffer_atomic_fmin"),
    Atomic<B32, kMaxReal<B32>>("buffer_atomic_fmax"),
    Atomic<B64, kSwap<B64>>("buffer_atomic_swap_x2"),
    Atomic<B64, kCompareSwap<B64>, true>("buffer_atomic_cmpswap_x2"),
    Atomic<B64, kAdd<B64>>("buffer_atomic_add_x2"),
    Atomic<B64, kSub<B64>>("buffer_atomic_sub_x2"),
    Atomic<B64, kMinSigned<B64>>("buffer_atomic_smin_x2"),
    Atomic<B64, kMin<B64>>("buffer_atomic_umin_x2"),
    Atomic<B64, kMaxSigned<B64>>("buffer_atomic_smax_x2"),
    Atomic<B64, kMax<B64>>("buffer_atomic_umax_x2"),
    Atomic<B64, kAnd<B64>>("buffer_atomic_and_x2"),
    Atomic<B64, kOr<B64>>("buffer_atomic_or_x2"),
    Atomic<B64, kXor<B64>>("buffer_atomic_xor_x2"),
    Atomic<B64, kIncrement<B64>>("buffer_atomic_inc_x2"),
    Atomic<B64, kDecrement<B64>>("buffer_atomic_dec_x2"),
    Atomic<B64, kCompareSwapReal<B64>, true>("buffer_atomic_fcmpswap_x2"),
    Atomic<B64, kMinReal<B64>>("buffer_atomic_fmin_x2"),
    Atomic<B64, kMaxReal<B64>>("buffer_atomic_fmax_x2"),
    Atomic<B32, kClampSub<B32>>("buffer_atomic_csub"),
    Atomic<B32, kAddReal<B32>>("buffer_atomic_add_f32"),
    Atomic<B32, kAddTwoHalves>("buffer_atomic_pk_add_f16"),
    Atomic<B32, kAddTwoBrains>("buffer_atomic_pk_add_bf16"),
    Atomic<B64, kAddReal<B64>>("buffer_atomic_add_f64"),
    Atomic<B64, kMinReal<B64>>("buffer_atomic_min_f64"),
    Atomic<B64, kMaxReal<B64>>("buffer_atomic_max_f64"),

    Nothing("buffer_wbl2"),
    Nothing("buffer_inv"),
    Nothing("buffer_wbinvl1"),
    Nothing("buffer_wbinvl1_vol"),
    Nothing("buffer_invl2"),
    Nothing("buffer_gl0_inv"),
    Nothing("buffer_gl1_inv"),
};

}  // namespace

std::span<const Row> BufferRows() {
  // Never destroyed: ops point to their rows as long as waves run.
  static const std::vector<Row>* rows = [] {
    auto* joined = new std::vector<Row>(std::begin(kRows), std::end(kRows));
    std::span<const Row> typed = BufferFormatRows();
    joined->insert(joined->end(), typed.begin(), typed.end());
    return joined;
  }();
  return *rows;
}

}  // namespace rochound::softgpu
