// SPDX-License-Identifier: MIT
//
// min, max, min3, max3 and med3 of floats, on their bits: the rules for zeros, NaNs and signaling
// NaNs (MODE.IEEE) are about bits, and integers vectorise. Used by the scalar and the packed rows.
#pragma once

#include <cstdint>

#include "softgpu/isa/semantics/float_lanes.h"

namespace rochound::softgpu {

enum class Pick : uint8_t { kMin, kMax, kMin3, kMax3, kMed3 };

struct PickRules {
  bool ieee;               // MODE.IEEE
  bool first_of_two_nans;  // gfx10; gfx9 gives the second
};

template <typename WordType, typename SignedType, WordType kInfinityBits, WordType kQuietBit>
struct PickFormat {
  using Word = WordType;
  using Signed = SignedType;
  static constexpr Word kInfinity = kInfinityBits;
  static constexpr Word kQuiet = kQuietBit;
  static constexpr Word kSign = Word{1} << (8 * sizeof(Word) - 1);
};
using PickSingle = PickFormat<uint32_t, int32_t, 0x7F800000u, 0x00400000u>;
using PickDouble = PickFormat<uint64_t, int64_t, 0x7FF0000000000000u, 0x0008000000000000u>;
using PickHalf = PickFormat<uint32_t, int32_t, 0x7C000000u, 0x02000000u>;  // in the upper 16 bits

template <typename F>
struct Picker {
  using Word = typename F::Word;
  using Signed = typename F::Signed;

  static bool IsNan(Word x) { return (x & ~F::kSign) > F::kInfinity; }
  static bool IsSignaling(Word x) { return IsNan(x) & !(x & F::kQuiet); }
  // Ordered like the floats, and -0 below +0.
  static Signed Key(Word x) {
    Word fold = static_cast<Word>(static_cast<Signed>(x) >> (8 * sizeof(Word) - 1)) & ~F::kSign;
    return static_cast<Signed>(x ^ fold);
  }
  static bool Equal(Word a, Word b) { return (a == b) | !((a | b) & ~F::kSign); }
  static Word Flush(Word x) { return x & F::kInfinity ? x : x & F::kSign; }

  // A NaN loses against a number; a signaling one wins in IEEE mode, quieted.
  template <bool kMax, PickRules kRules>
  static Word Two(Word a, Word b) {
    bool first = kMax ? Key(a) > Key(b) : Key(a) < Key(b);
    Word result = first ? a : b;
    if constexpr (kRules.first_of_two_nans) {
      result = IsNan(a) ? b : result;
      result = IsNan(b) ? a : result;
    } else {
      result = IsNan(b) ? a : result;
      result = IsNan(a) ? b : result;
    }
    if constexpr (kRules.ieee) {
      result = IsSignaling(b) ? b | F::kQuiet : result;
      result = IsSignaling(a) ? a | F::kQuiet : result;
    }
    return result;
  }

  template <Pick kPick, PickRules kRules>
  static Word Choose(Word a, Word b, Word c) {
    if constexpr (kPick == Pick::kMin) return Two<false, kRules>(a, b);
    if constexpr (kPick == Pick::kMax) return Two<true, kRules>(a, b);
    if constexpr (kPick == Pick::kMin3) return Two<false, kRules>(Two<false, kRules>(a, b), c);
    if constexpr (kPick == Pick::kMax3) return Two<true, kRules>(Two<true, kRules>(a, b), c);
    if constexpr (kPick == Pick::kMed3) {
      Word max3 = Choose<Pick::kMax3, kRules>(a, b, c);
      Word result = Two<true, kRules>(a, b);
      result = Equal(max3, b) ? Two<true, kRules>(a, c) : result;
      result = Equal(max3, a) ? Two<true, kRules>(b, c) : result;
      bool any_nan = IsNan(a) | IsNan(b) | IsNan(c);
      return any_nan ? Choose<Pick::kMin3, kRules>(a, b, c) : result;
    }
  }
};

constexpr unsigned PickSources(Pick pick) { return pick <= Pick::kMax ? 2 : 3; }

// Element E of a storage type: where a float of format F stands in it.
enum class PickLayout : uint8_t { kWhole, kLowHalf, kBothHalves };

template <typename F, PickLayout kLayout, Pick kPick, PickRules kRules, bool kFlush>
void PickLoop(typename F::Word* d, const typename F::Word* a, const typename F::Word* b,
              const typename F::Word* c, unsigned lanes) {
  using Word = typename F::Word;
  auto choose = [](Word x, Word y, Word z) {
    if constexpr (kFlush) {
      x = Picker<F>::Flush(x);
      y = Picker<F>::Flush(y);
      z = Picker<F>::Flush(z);
    }
    return Picker<F>::template Choose<kPick, kRules>(x, y, z);
  };
  for (unsigned base = 0; base < lanes; base += 32) {
#pragma GCC ivdep
    for (unsigned i = base; i < base + 32; ++i) {
      if constexpr (kLayout == PickLayout::kWhole) {
        d[i] = choose(a[i], b[i], c[i]);
      } else {
        Word low = choose(a[i] << 16, b[i] << 16, c[i] << 16) >> 16;
        if constexpr (kLayout == PickLayout::kBothHalves) {
          constexpr Word kHigh = 0xFFFF0000u;
          low |= choose(a[i] & kHigh, b[i] & kHigh, c[i] & kHigh) & kHigh;
        }
        d[i] = low;
      }
    }
  }
}

template <typename F, PickLayout kLayout, Pick kPick, PickRules kRules>
void PickLanes(void* dst, const void* const* src, unsigned lanes) {
  using Word = typename F::Word;
  auto* d = static_cast<Word*>(dst);
  auto* a = static_cast<const Word*>(src[0]);
  auto* b = static_cast<const Word*>(src[1]);
  auto* c = static_cast<const Word*>(PickSources(kPick) == 3 ? src[2] : src[1]);
  HostMode mode = HostMode::Now();
  if (mode.flush_inputs || mode.flush_results) {
    PickLoop<F, kLayout, kPick, kRules, true>(d, a, b, c, lanes);
  } else {
    PickLoop<F, kLayout, kPick, kRules, false>(d, a, b, c, lanes);
  }
}

template <typename F, PickLayout kLayout, Pick kPick>
const Op* ExecPick(Wave& wave, const Op* op) {
  static constexpr LaneLoop kLoops[2][2] = {
      {&PickLanes<F, kLayout, kPick, {false, false}>, &PickLanes<F, kLayout, kPick, {false, true}>},
      {&PickLanes<F, kLayout, kPick, {true, false}>, &PickLanes<F, kLayout, kPick, {true, true}>},
  };
  bool is_gfx10 = (wave.architecture->bit & kGfx10Targets) != 0;
  LaneLoop loop = kLoops[IeeeMode(wave)][is_gfx10];
  return RunVector(wave, op, loop, op->row->types[0], op->imm2 != 0);
}

template <typename F, PickLayout kLayout, Pick kPick, Ty kType>
constexpr Row PickRow(std::string_view mnemonic, uint32_t flags = 0,
                      decltype(Row::prepare) prepare = nullptr) {
  Row row{mnemonic, &ExecPick<F, kLayout, kPick>, {kType, kType, kType}};
  if (PickSources(kPick) == 3) row.types[3] = kType;
  row.flags = flags;
  row.prepare = prepare;
  return row;
}

}  // namespace rochound::softgpu
