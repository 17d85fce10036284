// SPDX-License-Identifier: MIT
//
// flat_*, global_* and scratch_*. How the lanes reach memory is in lane_memory.h and
// private_memory.h; here is how each form of the instructions says where, and the rows.
#include <array>

#include "softgpu/isa/semantics/atomic_ops.h"
#include "softgpu/isa/semantics/flat_address.h"
#include "softgpu/isa/semantics/lane_memory.h"
#include "softgpu/isa/semantics/private_memory.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

using atomic_ops::kAdd, atomic_ops::kAddReal, atomic_ops::kAddTwoBrains, atomic_ops::kAddTwoHalves,
    atomic_ops::kAnd, atomic_ops::kClampSub, atomic_ops::kConditionalSub, atomic_ops::kCompareSwap,
    atomic_ops::kCompareSwapReal, atomic_ops::kDecrement, atomic_ops::kIncrement, atomic_ops::kMax,
    atomic_ops::kMaxReal, atomic_ops::kMaxSigned, atomic_ops::kMin, atomic_ops::kMinReal,
    atomic_ops::kMinSigned, atomic_ops::kOr, atomic_ops::kSub, atomic_ops::kSwap, atomic_ops::kXor;
using enum AddressKind;

// ---- Addresses ----

// An aperture that all lanes are in.
enum class Aperture : uint8_t { kNone, kShared, kPrivate, kMixed };

Aperture FindAperture(const Wave& wave, const LaneAddresses& addresses, uint64_t mask,
                      OffsetRange* range) {
  uint32_t upper =
      static_cast<uint32_t>((addresses.base + addresses.offset[std::countr_zero(mask)]) >> 32);
  bool shared = IsShared(wave, upper);
  if (!shared && !IsPrivate(wave, upper)) [[likely]]
    return Aperture::kNone;
  *range = RangeOf(addresses.offset, mask, mask == wave.full_exec, wave.lanes);
  if ((addresses.base + range->min) >> 32 != upper || (addresses.base + range->max) >> 32 != upper)
    return Aperture::kMixed;
  return shared ? Aperture::kShared : Aperture::kPrivate;
}

// Where the aperture's base would be, if the whole range is inside of LDS; else 0.
HostAddress SharedBase(const Wave& wave, const LaneAddresses& addresses, OffsetRange range,
                       unsigned bytes) {
  uint64_t last = static_cast<uint32_t>(addresses.base + range.max);
  if (last + bytes > wave.lds_bytes) return 0;
  // Modulo 2^64: base + offset wraps to the offset in LDS.
  uint32_t first = static_cast<uint32_t>(addresses.base + range.min);
  return reinterpret_cast<HostAddress>(wave.lds) + first - range.min;
}

PrivateAddresses ToPrivate(const LaneAddresses& addresses, OffsetRange range) {
  return {static_cast<uint32_t>(addresses.base), addresses.offset,
          static_cast<uint32_t>((addresses.base + range.min) >> 32)};
}

// ---- Loads and stores ----

template <MemoryType M, AddressKind K>
[[gnu::noinline]] bool LoadPairs(Wave& wave, const Op* op, uint64_t mask, uint32_t* dst) {
  WideAddresses wide;
  WidenPairs(wave, op, MemoryForm::Of(op), &wide);
  return LoadWide<M>(wave, op, K, wide, mask, dst);
}
template <MemoryType M, AddressKind K>
[[gnu::noinline]] bool StorePairs(Wave& wave, const Op* op, uint64_t mask, const uint32_t* src) {
  WideAddresses wide;
  WidenPairs(wave, op, MemoryForm::Of(op), &wide);
  return StoreWide<M>(wave, op, K, wide, mask, src);
}

template <MemoryType M, AddressKind K>
inline bool Load(Wave& wave, const Op* op, uint64_t mask, uint32_t* dst) {
  MemoryForm form = MemoryForm::Of(op);
  if constexpr (K == kPrivate) {
    return LoadPrivate<M>(wave, op, ScratchAddresses(wave, op, form), mask, dst);
  } else {
    LaneAddresses addresses;
    if (!NarrowAddresses<K>(wave, op, form, mask, &addresses)) [[unlikely]]
      return LoadPairs<M, K>(wave, op, mask, dst);
    if constexpr (K == kFlat) {
      OffsetRange range;
      Aperture aperture = FindAperture(wave, addresses, mask, &range);
      if (aperture == Aperture::kPrivate)
        return LoadPrivate<M>(wave, op, ToPrivate(addresses, range), mask, dst);
      if (aperture != Aperture::kNone) {
        HostAddress host = SharedBase(wave, addresses, range, M.bytes);
        if (aperture == Aperture::kMixed || host == 0) return LoadPairs<M, K>(wave, op, mask, dst);
        LoadRows<M>(host, addresses.offset, mask, mask == wave.full_exec, wave.lanes, dst);
        return true;
      }
    }
    return LoadGlobal<M, K>(wave, op, addresses, mask, dst);
  }
}

template <MemoryType M, AddressKind K>
const Op* ExecLoad(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  uint32_t* dst = wave.Row(MemoryForm::Of(op).result);
  if (!Load<M, K>(wave, op, mask, dst)) return nullptr;
  ClearOtherHalf<M>(wave, mask, dst);
  return op + 1;
}

template <MemoryType M, AddressKind K>
const Op* ExecLoadToLds(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  alignas(64) uint32_t loaded[M.dwords() * kRowLanes];
  if (!Load<M, K>(wave, op, mask, loaded)) return nullptr;
  StoreLoadedToLds(wave, op->imm, mask, M.dwords(), loaded);
  return op + 1;
}

template <MemoryType M, AddressKind K>
const Op* ExecStore(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  MemoryForm form = MemoryForm::Of(op);
  const uint32_t* src = wave.Row(form.data);
  bool done;
  if constexpr (K == kPrivate) {
    done = StorePrivate<M>(wave, op, ScratchAddresses(wave, op, form), mask, src);
  } else {
    LaneAddresses addresses;
    if (!NarrowAddresses<K>(wave, op, form, mask, &addresses)) [[unlikely]]
      return StorePairs<M, K>(wave, op, mask, src) ? op + 1 : nullptr;
    if constexpr (K == kFlat) {
      OffsetRange range;
      Aperture aperture = FindAperture(wave, addresses, mask, &range);
      if (aperture == Aperture::kPrivate) {
        done = StorePrivate<M>(wave, op, ToPrivate(addresses, range), mask, src);
        return done ? op + 1 : nullptr;
      }
      if (aperture != Aperture::kNone) {
        HostAddress host = SharedBase(wave, addresses, range, M.bytes);
        if (aperture == Aperture::kMixed || host == 0)
          return StorePairs<M, K>(wave, op, mask, src) ? op + 1 : nullptr;
        StoreRows<M>(host, addresses.offset, mask, mask == wave.full_exec, wave.lanes, src);
        return op + 1;
      }
    }
    done = StoreGlobal<M, K>(wave, op, addresses, mask, src);
  }
  return done ? op + 1 : nullptr;
}

const Op* ExecLoadAddThreadId(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  uint32_t* dst = wave.Row(MemoryForm::Of(op).result);
  return LoadGlobal<kBits32>(wave, op, ThreadIdAddresses(wave, op), mask, dst) ? op + 1 : nullptr;
}
const Op* ExecStoreAddThreadId(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  const uint32_t* src = wave.Row(MemoryForm::Of(op).result);
  return StoreGlobal<kBits32>(wave, op, ThreadIdAddresses(wave, op), mask, src) ? op + 1 : nullptr;
}

// ---- Atomics ----

// The data registers hold the new value, then the one to compare with. `update` gets the lane and
// both and returns the old value. Only what is used is read: the second may lie outside of the
// file.
template <typename T, bool kCompares, typename Update>
void UpdateLanes(Wave& wave, MemoryForm form, uint64_t mask, Update&& update) {
  const uint32_t* data = wave.Row(form.data);
  const uint32_t* compare = data + sizeof(T) / 4 * kRowLanes;
  uint32_t* result = form.result == MemoryForm::kAbsent ? nullptr : wave.Row(form.result);
  ForEachLane(mask, [&](unsigned lane) {
    T old =
        update(lane, GetElement<T>(data, lane), kCompares ? GetElement<T>(compare, lane) : T{0});
    if (result != nullptr) PutElement<T>(result, lane, old);
  });
}

// Every lane's place is found before the first one is changed.
template <typename T, auto F, bool kCompares, AddressKind K>
[[gnu::noinline]] const Op* AtomicSlow(Wave& wave, const Op* op, const WideAddresses& wide,
                                       uint64_t mask) {
  AtomicPlace places[kRowLanes];
  for (uint64_t left = mask; left != 0; left &= left - 1) {
    unsigned lane = static_cast<unsigned>(std::countr_zero(left));
    if (!FindAtomicPlace(wave, op, K, wide.at[lane], lane, sizeof(T), &places[lane]))
      return nullptr;
  }
  UpdateLanes<T, kCompares>(
      wave, MemoryForm::Of(op), mask, [&](unsigned lane, T data, T compare) -> T {
        const AtomicPlace& place = places[lane];
        if (!place.exclusive) return UpdateShared<T, F>(place.host, data, compare);
        if constexpr (sizeof(T) == 8) {
          if (place.upper != nullptr) {
            T old = LoadElement<uint32_t>(place.host) | uint64_t{LoadElement<uint32_t>(place.upper)}
                                                            << 32;
            T value = F(old, data, compare);
            StoreElement(place.host, static_cast<uint32_t>(value));
            StoreElement(place.upper, static_cast<uint32_t>(value >> 32));
            return old;
          }
        }
        return UpdateExclusive<T, F>(place.host, data, compare);
      });
  return op + 1;
}

template <typename T, auto F, bool kCompares, AddressKind K>
const Op* ExecAtomic(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  MemoryForm form = MemoryForm::Of(op);
  LaneAddresses addresses;
  WideAddresses wide;
  if (!NarrowAddresses<K>(wave, op, form, mask, &addresses)) [[unlikely]] {
    WidenPairs(wave, op, form, &wide);
    return AtomicSlow<T, F, kCompares, K>(wave, op, wide, mask);
  }
  uint32_t low_bits = 0;
  ForEachLane(mask, [&](unsigned lane) {
    low_bits |= static_cast<uint32_t>(addresses.base) + addresses.offset[lane];
  });
  OffsetRange range = RangeOf(addresses.offset, mask, mask == wave.full_exec, wave.lanes);
  HostAddress host = HostBase(wave, addresses.base, range, sizeof(T), kRead | kWrite);
  if (host == 0 || low_bits % sizeof(T) != 0) {
    Widen(addresses, wave.lanes, &wide);
    return AtomicSlow<T, F, kCompares, K>(wave, op, wide, mask);
  }
  const uint32_t* offset = addresses.offset;
  UpdateLanes<T, kCompares>(wave, form, mask, [&](unsigned lane, T data, T compare) {
    return UpdateShared<T, F>(HostPointer(host + offset[lane]), data, compare);
  });
  return op + 1;
}

// ---- Decoding ----

bool TakeVector(const Op& op, unsigned index, uint16_t* row, std::string* why) {
  if (index >= op.operand_count || op.operand[index].kind != Operand::Kind::kVector) {
    *why = "operand " + std::to_string(index);
    return false;
  }
  *row = op.operand[index].index;
  return true;
}

// Address operands: `index` is the vector's place, `scalar_index` the scalar's.
template <AddressKind K>
bool TakeAddress(const Op& op, unsigned index, unsigned scalar_index, MemoryForm* form,
                 std::string* why) {
  bool wide = true;
  if (K != kFlat) {
    if (scalar_index >= op.operand_count) {
      *why = "address form";
      return false;
    }
    const Operand& scalar = op.operand[scalar_index];
    if (scalar.kind == Operand::Kind::kScalar && scalar.index != kNull) {
      form->scalar = scalar.index;
    } else if (scalar.kind != Operand::Kind::kOff) {
      *why = "scalar address";
      return false;
    }
    wide = K == kGlobal && scalar.kind == Operand::Kind::kOff;
  }
  if (K == kPrivate && index < op.operand_count && op.operand[index].kind == Operand::Kind::kOff)
    return true;
  if (!TakeVector(op, index, &form->address, why)) return false;
  if (op.operand[index].dwords == (wide ? 2 : 1)) return true;
  *why = "address form";
  return false;
}

template <AddressKind K>
bool PrepareLoad(const AsmInstruction& instruction, const Architecture&, Op* op, std::string* why) {
  MemoryForm form;
  op->imm = instruction.modifiers.offset;
  if (instruction.modifiers.lds) {
    *why = "lds";
    return false;
  }
  if (!TakeVector(*op, 0, &form.result, why) || !TakeAddress<K>(*op, 1, 2, &form, why))
    return false;
  form.Store(op);
  return true;
}

// To LDS by its own mnemonic, or by a modifier of the plain load (gfx10).
template <MemoryType M, AddressKind K>
bool PrepareLoadMaybeToLds(const AsmInstruction& instruction, const Architecture& architecture,
                           Op* op, std::string* why) {
  if (!instruction.modifiers.lds && op->exec != &ExecLoadToLds<M, K>)
    return PrepareLoad<K>(instruction, architecture, op, why);
  MemoryForm form;
  op->imm = instruction.modifiers.offset;
  if (!TakeAddress<K>(*op, 0, 1, &form, why)) return false;
  form.Store(op);
  op->exec = &ExecLoadToLds<M, K>;
  return true;
}

template <AddressKind K>
bool PrepareStore(const AsmInstruction& instruction, const Architecture&, Op* op,
                  std::string* why) {
  MemoryForm form;
  op->imm = instruction.modifiers.offset;
  if (!TakeAddress<K>(*op, 0, 2, &form, why) || !TakeVector(*op, 1, &form.data, why)) return false;
  form.Store(op);
  return true;
}

template <AddressKind K>
bool PrepareAtomic(const AsmInstruction& instruction, const Architecture&, Op* op,
                   std::string* why) {
  MemoryForm form;
  op->imm = instruction.modifiers.offset;
  unsigned first = instruction.modifiers.glc ? 1 : 0;
  if (first == 1 && !TakeVector(*op, 0, &form.result, why)) return false;
  if (op->operand_count != first + (K == kFlat ? 2 : 3)) {
    *why = "operand count";
    return false;
  }
  if (!TakeAddress<K>(*op, first, first + 2, &form, why) ||
      !TakeVector(*op, first + 1, &form.data, why))
    return false;
  form.Store(op);
  return true;
}

bool PrepareThreadId(const AsmInstruction& instruction, const Architecture&, Op* op,
                     std::string* why) {
  MemoryForm form;
  op->imm = instruction.modifiers.offset;
  if (!TakeVector(*op, 0, &form.result, why)) return false;
  const Operand& scalar = op->operand[1];
  if (scalar.kind == Operand::Kind::kScalar && scalar.index != kNull) {
    form.scalar = scalar.index;
  } else if (scalar.kind != Operand::Kind::kOff) {
    *why = "scalar address";
    return false;
  }
  form.Store(op);
  return true;
}

// ---- Rows ----

constexpr std::array<Ty, kMaxOperands> kRawOperands = {Ty::kRaw, Ty::kRaw, Ty::kRaw, Ty::kRaw};

template <MemoryType M, AddressKind K>
constexpr Row Load(std::string_view mnemonic) {
  return {mnemonic, &ExecLoad<M, K>, kRawOperands, nullptr, 0, kAllTargets, &PrepareLoad<K>};
}
template <MemoryType M, AddressKind K>
constexpr Row LoadMaybeToLds(std::string_view mnemonic) {
  return {mnemonic,
          &ExecLoad<M, K>,
          kRawOperands,
          nullptr,
          0,
          kAllTargets,
          &PrepareLoadMaybeToLds<M, K>};
}
template <MemoryType M, AddressKind K>
constexpr Row LoadToLds(std::string_view mnemonic) {
  return {mnemonic,    &ExecLoadToLds<M, K>,        kRawOperands, nullptr, 0,
          kAllTargets, &PrepareLoadMaybeToLds<M, K>};
}
template <MemoryType M, AddressKind K>
constexpr Row Store(std::string_view mnemonic) {
  return {mnemonic, &ExecStore<M, K>, kRawOperands, nullptr, 0, kAllTargets, &PrepareStore<K>};
}
template <typename T, auto F, AddressKind K>
constexpr Row Atomic(std::string_view mnemonic, uint32_t targets = kAllTargets) {
  return {mnemonic,         &ExecAtomic<T, F, false, K>, kRawOperands, nullptr, 0, targets,
          &PrepareAtomic<K>};
}
template <typename T, auto F, AddressKind K>
constexpr Row AtomicCompare(std::string_view mnemonic) {
  return {mnemonic,    &ExecAtomic<T, F, true, K>, kRawOperands, nullptr, 0,
          kAllTargets, &PrepareAtomic<K>};
}

using B32 = uint32_t;
using B64 = uint64_t;

constexpr Row kRows[] = {
    Load<kUnsigned8, kFlat>("flat_load_ubyte"),
    Load<kSigned8, kFlat>("flat_load_sbyte"),
    Load<kUnsigned16, kFlat>("flat_load_ushort"),
    Load<kSigned16, kFlat>("flat_load_sshort"),
    Load<kBits32, kFlat>("flat_load_dword"),
    Load<kBits64, kFlat>("flat_load_dwordx2"),
    Load<kBits96, kFlat>("flat_load_dwordx3"),
    Load<kBits128, kFlat>("flat_load_dwordx4"),
    Load<kUnsigned8Low, kFlat>("flat_load_ubyte_d16"),
    Load<kUnsigned8High, kFlat>("flat_load_ubyte_d16_hi"),
    Load<kSigned8Low, kFlat>("flat_load_sbyte_d16"),
    Load<kSigned8High, kFlat>("flat_load_sbyte_d16_hi"),
    Load<kBits16Low, kFlat>("flat_load_short_d16"),
    Load<kBits16High, kFlat>("flat_load_short_d16_hi"),
    Store<kUnsigned8, kFlat>("flat_store_byte"),
    Store<kUnsigned8High, kFlat>("flat_store_byte_d16_hi"),
    Store<kUnsigned16, kFlat>("flat_store_short"),
    Store<kBits16High, kFlat>("flat_store_short_d16_hi"),
    Store<kBits32, kFlat>("flat_store_dword"),
    Store<kBits64, kFlat>("flat_store_dwordx2"),
    Store<kBits96, kFlat>("flat_store_dwordx3"),
    Store<kBits128, kFlat>("flat_store_dwordx4"),

    LoadMaybeToLds<kUnsigned8, kGlobal>("global_load_ubyte"),
    LoadMaybeToLds<kSigned8, kGlobal>("global_load_sbyte"),
    LoadMaybeToLds<kUnsigned16, kGlobal>("global_load_ushort"),
    LoadMaybeToLds<kSigned16, kGlobal>("global_load_sshort"),
    LoadMaybeToLds<kBits32, kGlobal>("global_load_dword"),
    Load<kBits64, kGlobal>("global_load_dwordx2"),
    Load<kBits96, kGlobal>("global_load_dwordx3"),
    Load<kBits128, kGlobal>("global_load_dwordx4"),
    Load<kUnsigned8Low, kGlobal>("global_load_ubyte_d16"),
    Load<kUnsigned8High, kGlobal>("global_load_ubyte_d16_hi"),
    Load<kSigned8Low, kGlobal>("global_load_sbyte_d16"),
    Load<kSigned8High, kGlobal>("global_load_sbyte_d16_hi"),
    Load<kBits16Low, kGlobal>("global_load_short_d16"),
    Load<kBits16High, kGlobal>("global_load_short_d16_hi"),
    LoadToLds<kUnsigned8, kGlobal>("global_load_lds_ubyte"),
    LoadToLds<kSigned8, kGlobal>("global_load_lds_sbyte"),
    LoadToLds<kUnsigned16, kGlobal>("global_load_lds_ushort"),
    LoadToLds<kSigned16, kGlobal>("global_load_lds_sshort"),
    LoadToLds<kBits32, kGlobal>("global_load_lds_dword"),
    LoadToLds<kBits96, kGlobal>("global_load_lds_dwordx3"),
    LoadToLds<kBits128, kGlobal>("global_load_lds_dwordx4"),
    Store<kUnsigned8, kGlobal>("global_store_byte"),
    Store<kUnsigned8High, kGlobal>("global_store_byte_d16_hi"),
    Store<kUnsigned16, kGlobal>("global_store_short"),
    Store<kBits16High, kGlobal>("global_store_short_d16_hi"),
    Store<kBits32, kGlobal>("global_store_dword"),
    Store<kBits64, kGlobal>("global_store_dwordx2"),
    Store<kBits96, kGlobal>("global_store_dwordx3"),
    Store<kBits128, kGlobal>("global_store_dwordx4"),
    {"global_load_dword_addtid", &ExecLoadAddThreadId, kRawOperands, nullptr, 0, kAllTargets,
     &PrepareThreadId},
    {"global_store_dword_addtid", &ExecStoreAddThreadId, kRawOperands, nullptr, 0, kAllTargets,
     &PrepareThreadId},

    LoadMaybeToLds<kUnsigned8, kPrivate>("scratch_load_ubyte"),
    LoadMaybeToLds<kSigned8, kPrivate>("scratch_load_sbyte"),
    LoadMaybeToLds<kUnsigned16, kPrivate>("scratch_load_ushort"),
    LoadMaybeToLds<kSigned16, kPrivate>("scratch_load_sshort"),
    LoadMaybeToLds<kBits32, kPrivate>("scratch_load_dword"),
    Load<kBits64, kPrivate>("scratch_load_dwordx2"),
    Load<kBits96, kPrivate>("scratch_load_dwordx3"),
    Load<kBits128, kPrivate>("scratch_load_dwordx4"),
    Load<kUnsigned8Low, kPrivate>("scratch_load_ubyte_d16"),
    Load<kUnsigned8High, kPrivate>("scratch_load_ubyte_d16_hi"),
    Load<kSigned8Low, kPrivate>("scratch_load_sbyte_d16"),
    Load<kSigned8High, kPrivate>("scratch_load_sbyte_d16_hi"),
    Load<kBits16Low, kPrivate>("scratch_load_short_d16"),
    Load<kBits16High, kPrivate>("scratch_load_short_d16_hi"),
    LoadToLds<kUnsigned8, kPrivate>("scratch_load_lds_ubyte"),
    LoadToLds<kSigned8, kPrivate>("scratch_load_lds_sbyte"),
    LoadToLds<kUnsigned16, kPrivate>("scratch_load_lds_ushort"),
    LoadToLds<kSigned16, kPrivate>("scratch_load_lds_sshort"),
    LoadToLds<kBits32, kPrivate>("scratch_load_lds_dword"),
    Store<kUnsigned8, kPrivate>("scratch_store_byte"),
    Store<kUnsigned8High, kPrivate>("scratch_store_byte_d16_hi"),
    Store<kUnsigned16, kPrivate>("scratch_store_short"),
    Store<kBits16High, kPrivate>("scratch_store_short_d16_hi"),
    Store<kBits32, kPrivate>("scratch_store_dword"),
    Store<kBits64, kPrivate>("scratch_store_dwordx2"),
    Store<kBits96, kPrivate>("scratch_store_dwordx3"),
    Store<kBits128, kPrivate>("scratch_store_dwordx4"),

    Atomic<B32, kSwap<B32>, kFlat>("flat_atomic_swap"),
    AtomicCompare<B32, kCompareSwap<B32>, kFlat>("flat_atomic_cmpswap"),
    Atomic<B32, kAdd<B32>, kFlat>("flat_atomic_add"),
    Atomic<B32, kSub<B32>, kFlat>("flat_atomic_sub"),
    Atomic<B32, kMinSigned<B32>, kFlat>("flat_atomic_smin"),
    Atomic<B32, kMin<B32>, kFlat>("flat_atomic_umin"),
    Atomic<B32, kMaxSigned<B32>, kFlat>("flat_atomic_smax"),
    Atomic<B32, kMax<B32>, kFlat>("flat_atomic_umax"),
    Atomic<B32, kAnd<B32>, kFlat>("flat_atomic_and"),
    Atomic<B32, kOr<B32>, kFlat>("flat_atomic_or"),
    Atomic<B32, kXor<B32>, kFlat>("flat_atomic_xor"),
    Atomic<B32, kIncrement<B32>, kFlat>("flat_atomic_inc"),
    Atomic<B32, kDecrement<B32>, kFlat>("flat_atomic_dec"),
    Atomic<B64, kSwap<B64>, kFlat>("flat_atomic_swap_x2"),
    AtomicCompare<B64, kCompareSwap<B64>, kFlat>("flat_atomic_cmpswap_x2"),
    Atomic<B64, kAdd<B64>, kFlat>("flat_atomic_add_x2"),
    Atomic<B64, kSub<B64>, kFlat>("flat_atomic_sub_x2"),
    Atomic<B64, kMinSigned<B64>, kFlat>("flat_atomic_smin_x2"),
    Atomic<B64, kMin<B64>, kFlat>("flat_atomic_umin_x2"),
    Atomic<B64, kMaxSigned<B64>, kFlat>("flat_atomic_smax_x2"),
    Atomic<B64, kMax<B64>, kFlat>("flat_atomic_umax_x2"),
    Atomic<B64, kAnd<B64>, kFlat>("flat_atomic_and_x2"),
    Atomic<B64, kOr<B64>, kFlat>("flat_atomic_or_x2"),
    Atomic<B64, kXor<B64>, kFlat>("flat_atomic_xor_x2"),
    Atomic<B64, kIncrement<B64>, kFlat>("flat_atomic_inc_x2"),
    Atomic<B64, kDecrement<B64>, kFlat>("flat_atomic_dec_x2"),
    AtomicCompare<B32, kCompareSwapReal<B32>, kFlat>("flat_atomic_fcmpswap"),
    Atomic<B32, kMinReal<B32>, kFlat>("flat_atomic_fmin"),
    Atomic<B32, kMaxReal<B32>, kFlat>("flat_atomic_fmax"),
    AtomicCompare<B64, kCompareSwapReal<B64>, kFlat>("flat_atomic_fcmpswap_x2"),
    Atomic<B64, kMinReal<B64>, kFlat>("flat_atomic_fmin_x2"),
    Atomic<B64, kMaxReal<B64>, kFlat>("flat_atomic_fmax_x2"),
    Atomic<B32, kAddReal<B32>, kFlat>("flat_atomic_add_f32"),
    Atomic<B32, kAddTwoHalves, kFlat>("flat_atomic_pk_add_f16"),
    Atomic<B32, kAddTwoBrains, kFlat>("flat_atomic_pk_add_bf16"),
    Atomic<B64, kAddReal<B64>, kFlat>("flat_atomic_add_f64"),
    Atomic<B64, kMinReal<B64>, kFlat>("flat_atomic_min_f64"),
    Atomic<B64, kMaxReal<B64>, kFlat>("flat_atomic_max_f64"),

    Atomic<B32, kClampSub<B32>, kFlat>("flat_atomic_csub", kGfx12Targets),
    Atomic<B32, kConditionalSub<B32>, kFlat>("flat_atomic_cond_sub_u32", kGfx12Targets),
    Atomic<B32, kConditionalSub<B32>, kGlobal>("global_atomic_cond_sub_u32", kGfx12Targets),

    Atomic<B32, kSwap<B32>, kGlobal>("global_atomic_swap"),
    AtomicCompare<B32, kCompareSwap<B32>, kGlobal>("global_atomic_cmpswap"),
    Atomic<B32, kAdd<B32>, kGlobal>("global_atomic_add"),
    Atomic<B32, kSub<B32>, kGlobal>("global_atomic_sub"),
    Atomic<B32, kMinSigned<B32>, kGlobal>("global_atomic_smin"),
    Atomic<B32, kMin<B32>, kGlobal>("global_atomic_umin"),
    Atomic<B32, kMaxSigned<B32>, kGlobal>("global_atomic_smax"),
    Atomic<B32, kMax<B32>, kGlobal>("global_atomic_umax"),
    Atomic<B32, kAnd<B32>, kGlobal>("global_atomic_and"),
    Atomic<B32, kOr<B32>, kGlobal>("global_atomic_or"),
    Atomic<B32, kXor<B32>, kGlobal>("global_atomic_xor"),
    Atomic<B32, kIncrement<B32>, kGlobal>("global_atomic_inc"),
    Atomic<B32, kDecrement<B32>, kGlobal>("global_atomic_dec"),
    Atomic<B64, kSwap<B64>, kGlobal>("global_atomic_swap_x2"),
    AtomicCompare<B64, kCompareSwap<B64>, kGlobal>("global_atomic_cmpswap_x2"),
    Atomic<B64, kAdd<B64>, kGlobal>("global_atomic_add_x2"),
    Atomic<B64, kSub<B64>, kGlobal>("global_atomic_sub_x2"),
    Atomic<B64, kMinSigned<B64>, kGlobal>("global_atomic_smin_x2"),
    Atomic<B64, kMin<B64>, kGlobal>("global_atomic_umin_x2"),
    Atomic<B64, kMaxSigned<B64>, kGlobal>("global_atomic_smax_x2"),
    Atomic<B64, kMax<B64>, kGlobal>("global_atomic_umax_x2"),
    Atomic<B64, kAnd<B64>, kGlobal>("global_atomic_and_x2"),
    Atomic<B64, kOr<B64>, kGlobal>("global_atomic_or_x2"),
    Atomic<B64, kXor<B64>, kGlobal>("global_atomic_xor_x2"),
    Atomic<B64, kIncrement<B64>, kGlobal>("global_atomic_inc_x2"),
    Atomic<B64, kDecrement<B64>, kGlobal>("global_atomic_dec_x2"),
    Atomic<B32, kClampSub<B32>, kGlobal>("global_atomic_csub"),
    AtomicCompare<B32, kCompareSwapReal<B32>, kGlobal>("global_atomic_fcmpswap"),
    Atomic<B32, kMinReal<B32>, kGlobal>("global_atomic_fmin"),
    Atomic<B32, kMaxReal<B32>, kGlobal>("global_atomic_fmax"),
    AtomicCompare<B64, kCompareSwapReal<B64>, kGlobal>("global_atomic_fcmpswap_x2"),
    Atomic<B64, kMinReal<B64>, kGlobal>("global_atomic_fmin_x2"),
    Atomic<B64, kMaxReal<B64>, kGlobal>("global_atomic_fmax_x2"),
    Atomic<B32, kAddReal<B32>, kGlobal>("global_atomic_add_f32"),
    Atomic<B32, kAddTwoHalves, kGlobal>("global_atomic_pk_add_f16"),
    Atomic<B32, kAddTwoBrains, kGlobal>("global_atomic_pk_add_bf16"),
    Atomic<B64, kAddReal<B64>, kGlobal>("global_atomic_add_f64"),
    Atomic<B64, kMinReal<B64>, kGlobal>("global_atomic_min_f64"),
    Atomic<B64, kMaxReal<B64>, kGlobal>("global_atomic_max_f64"),
};

}  // namespace

std::span<const Row> FlatRows() { return kRows; }

}  // namespace rochound::softgpu
