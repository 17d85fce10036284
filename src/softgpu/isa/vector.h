// SPDX-License-Identifier: MIT
//
// How vector (VALU) rows are written and run. A row names a lane function; the templates here turn
// it into a loop over a whole register row that the compiler vectorises, and the executors do what
// all vector instructions share: fetching operands, abs/neg, DPP, SDWA, op_sel, clamp, omod, the
// exec mask. Write a row as
//
//   Vector<[](float a, float b) { return a + b; }, Ty::kF32, Ty::kF32, Ty::kF32>("v_add_f32")
//
// with the destination's type first, then the sources', in the order of the assembly text.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "softgpu/isa/lane_types.h"
#include "softgpu/isa/op.h"
#include "softgpu/isa/wave.h"

namespace rochound::softgpu {

// ---- Executors (vector.cpp) ----
const Op* ExecVector(Wave& wave, const Op* op);       // dst, sources...
const Op* ExecVectorPlain(Wave& wave, const Op* op);  // the same for 32-bit ops without modifiers
// The same for those whose sources are vector registers, and constants of one value at most: what
// it needs is in one cache line of the op.
const Op* ExecVectorRegisters(Wave& wave, const Op* op);
const Op* ExecCompare(Wave& wave, const Op* op);      // mask, a, b; lanes that are off become 0
const Op* ExecCompareExec(Wave& wave, const Op* op);  // a, b -> exec (gfx10 v_cmpx)
const Op* ExecCompareBoth(Wave& wave, const Op* op);  // mask, a, b -> mask and exec (gfx9 v_cmpx)

// What ExecVectorRegisters needs, in Op::imm2; the constant's row is in Op::imm.
struct RowForm {
  static constexpr uint16_t kConstant = 0xFFFF;
  uint16_t destination = 0;
  uint16_t source[3] = {};

  static RowForm Of(const Op* op) { return std::bit_cast<RowForm>(op->imm2); }
};
// Sets imm, imm2 and exec of a plain op if its operands are such.
void UseRowForm(Op* op);

// ---- What hand-written executors use ----

// 64 elements of 64 bits: room for any source or result.
struct alignas(64) RowBuffer {
  uint64_t bytes[kRowLanes];
  uint32_t* u32() { return reinterpret_cast<uint32_t*>(bytes); }
  uint64_t* u64() { return bytes; }
};

// Source `number` (0-based among the sources), standing at operand `index`, with every modifier
// applied. Points into the register file where it can, else into *buffer. *lanes loses the lanes
// that DPP disables.
const void* FetchSource(Wave& wave, const Op* op, unsigned index, unsigned number, Ty type,
                        RowBuffer* buffer, uint64_t* lanes);

// Writes `result` (storage of `type`) to the vector destination at operand `index`, for the lanes
// given, after omod and clamp, merging halves as op_sel, SDWA and the target demand.
void StoreResult(Wave& wave, const Op* op, unsigned index, Ty type, RowBuffer* result,
                 uint64_t lanes);

// All ones or all zeros per lane, from and to one bit per lane.
void ExpandMask(uint64_t mask, uint32_t* row, unsigned lanes);
uint64_t CollectMask(const uint32_t* row, unsigned lanes);

// dst[i] = source[i] where lanes has bit i.
void Blend(uint32_t* dst, const uint32_t* source, uint64_t lanes, unsigned count);

// Holds the wave's rounding and denormal mode for a type while it lives, if it is not the default.
class FloatMode {
 public:
  FloatMode(const Wave& wave, Ty type) {
    if ((wave.mode & 0xFF) != 0xF0) [[unlikely]]
      Set(wave.mode, type);
  }
  ~FloatMode() {
    if (changed_) [[unlikely]]
      Restore();
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  void Set(uint32_t mode, Ty type);
  void Restore();
  bool changed_ = false;
  uint32_t saved_ = 0;
};

// ---- Lane loops ----

template <auto F, Ty D, Ty A>
void Lanes1(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<typename Lane<D>::Storage*>(dst);
  auto* a = static_cast<const typename Lane<A>::Storage*>(src[0]);
  for (size_t base = 0; base < lanes; base += 32) {
#pragma GCC ivdep
    for (size_t i = base; i < base + 32; ++i) d[i] = Lane<D>::Put(F(Lane<A>::Get(a[i])));
  }
}

template <auto F, Ty D, Ty A, Ty B>
void Lanes2(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<typename Lane<D>::Storage*>(dst);
  auto* a = static_cast<const typename Lane<A>::Storage*>(src[0]);
  auto* b = static_cast<const typename Lane<B>::Storage*>(src[1]);
  for (size_t base = 0; base < lanes; base += 32) {
#pragma GCC ivdep
    for (size_t i = base; i < base + 32; ++i)
      d[i] = Lane<D>::Put(F(Lane<A>::Get(a[i]), Lane<B>::Get(b[i])));
  }
}

template <auto F, Ty D, Ty A, Ty B, Ty C>
void Lanes3(void* dst, const void* const* src, unsigned lanes) {
  auto* d = static_cast<typename Lane<D>::Storage*>(dst);
  auto* a = static_cast<const typename Lane<A>::Storage*>(src[0]);
  auto* b = static_cast<const typename Lane<B>::Storage*>(src[1]);
  auto* c = static_cast<const typename Lane<C>::Storage*>(src[2]);
  for (size_t base = 0; base < lanes; base += 32) {
#pragma GCC ivdep
    for (size_t i = base; i < base + 32; ++i)
      d[i] = Lane<D>::Put(F(Lane<A>::Get(a[i]), Lane<B>::Get(b[i]), Lane<C>::Get(c[i])));
  }
}

template <auto F, Ty D, Ty... S>
constexpr LaneLoop LanesOf() {
  if constexpr (sizeof...(S) == 1) return &Lanes1<F, D, S...>;
  if constexpr (sizeof...(S) == 2) return &Lanes2<F, D, S...>;
  if constexpr (sizeof...(S) == 3) return &Lanes3<F, D, S...>;
}

// ---- Row builders ----

template <auto F, Ty D, Ty... S>
constexpr Row Vector(std::string_view mnemonic, uint32_t flags = 0,
                     uint32_t targets = kAllTargets) {
  return {mnemonic, &ExecVector, {D, S...}, LanesOf<F, D, S...>(), flags, targets};
}

// dst = F(a, b, dst).
template <auto F, Ty D, Ty A, Ty B>
constexpr Row Accumulate(std::string_view mnemonic, uint32_t flags = 0,
                         uint32_t targets = kAllTargets) {
  return {mnemonic, &ExecVector, {D, A, B}, &Lanes3<F, D, A, B, D>, flags | kAccumulates, targets};
}

}  // namespace rochound::softgpu
