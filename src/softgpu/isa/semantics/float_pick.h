// SPDX-License-Identifier: MIT
//
// min, max, min3, max3, med3 and their mixtures, of floats, on their bits: the rules for zeros,
// NaNs and signaling NaNs (MODE.IEEE) are about bits, and integers vectorise. Used by the scalar
// and the packed rows.
#pragma once

#include <cstdint>

#include "softgpu/isa/semantics/float_lanes.h"

namespace rochound::softgpu {

// The last two take the smaller (greater) of the first two, then the greater (smaller) with the
// third.
enum class Pick : uint8_t { kMin, kMax, kMin3, kMax3, kMed3, kMinMax, kMaxMin };

struct PickRules {
  bool ieee;                // MODE.IEEE
  bool first_of_two_nans;   // since gfx10; gfx9 gives the second
  bool no_nans = false;     // none in the whole row: the common case, and much shorter
  bool quiets_two = false;  // gfx12's num forms: two NaNs give a quiet one
  bool propagates = false;  // gfx12's minimum and maximum: a NaN wins, quieted
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

// Conditions are masks of a whole word and comparisons are signed: what AVX2 has.
template <typename F>
struct Picker {
  using Word = typename F::Word;
  using Signed = typename F::Signed;

  static Word Mask(bool condition) { return Word{0} - Word{condition}; }
  static Word Select(Word mask, Word yes, Word no) { return (yes & mask) | (no & ~mask); }

  static Signed Magnitude(Word x) { return static_cast<Signed>(x & ~F::kSign); }
  static Word IsNan(Word x) { return Mask(Magnitude(x) > static_cast<Signed>(F::kInfinity)); }
  static Word IsSignaling(Word x) {
    return IsNan(x) & Mask(Magnitude(x) < static_cast<Signed>(F::kInfinity | F::kQuiet));
  }
  static Word Flush(Word x) { return Select(Mask((x & F::kInfinity) == 0), x & F::kSign, x); }

  // Ordered like the floats, and -0 (key -1) below +0 (key 0). Its own inverse.
  static Signed Key(Word x) {
    Word fold = static_cast<Word>(static_cast<Signed>(x) >> (8 * sizeof(Word) - 1)) & ~F::kSign;
    return static_cast<Signed>(x ^ fold);
  }
  static Signed Larger(Signed a, Signed b) { return a > b ? a : b; }
  // Of the floats that the keys stand for: zeros are equal.
  static Word Equal(Signed a, Signed b) {
    Word both_zero = Mask(a <= 0) & Mask(a >= -1) & Mask(b <= 0) & Mask(b >= -1);
    return Mask(a == b) | both_zero;
  }

  // A NaN loses against a number; a signaling one wins in IEEE mode, quieted.
  template <bool kMax, PickRules kRules>
  static Word Two(Word a, Word b) {
    Word result = Select(Mask(kMax ? Key(a) > Key(b) : Key(a) < Key(b)), a, b);
    if constexpr (kRules.no_nans) return result;
    if constexpr (kRules.propagates) {
      result = Select(IsNan(b), b, result);
      result = Select(IsNan(a), a, result);
      result = Select(IsSignaling(b), b | F::kQuiet, result);
      return Select(IsSignaling(a), a | F::kQuiet, result);
    }
    if constexpr (kRules.first_of_two_nans) {
      result = Select(IsNan(a), b, result);
      result = Select(IsNan(b), a, result);
    } else {
      result = Select(IsNan(b), a, result);
      result = Select(IsNan(a), b, result);
    }
    if constexpr (kRules.quiets_two) result = Select(IsNan(a) & IsNan(b), a | F::kQuiet, result);
    if constexpr (kRules.ieee) {
      result = Select(IsSignaling(b), b | F::kQuiet, result);
      result = Select(IsSignaling(a), a | F::kQuiet, result);
    }
    return result;
  }

  template <Pick kPick, PickRules kRules>
  static Word Choose(Word a, Word b, Word c) {
    if constexpr (kPick == Pick::kMin) return Two<false, kRules>(a, b);
    if constexpr (kPick == Pick::kMax) return Two<true, kRules>(a, b);
    if constexpr (kPick == Pick::kMin3) return Two<false, kRules>(Two<false, kRules>(a, b), c);
    if constexpr (kPick == Pick::kMax3) return Two<true, kRules>(Two<true, kRules>(a, b), c);
    if constexpr (kPick == Pick::kMinMax) return Two<true, kRules>(Two<false, kRules>(a, b), c);
    if constexpr (kPick == Pick::kMaxMin) return Two<false, kRules>(Two<true, kRules>(a, b), c);
    if constexpr (kPick == Pick::kMed3) {
      Signed x = Key(a), y = Key(b), z = Key(c);
      Signed max3 = Larger(Larger(x, y), z);
      auto key = static_cast<Word>(Larger(x, y));
      key = Select(Equal(max3, y), static_cast<Word>(Larger(x, z)), key);
      key = Select(Equal(max3, x), static_cast<Word>(Larger(y, z)), key);
      if constexpr (kRules.no_nans) return static_cast<Word>(Key(key));
      return Select(IsNan(a) | IsNan(b) | IsNan(c), Choose<Pick::kMin3, kRules>(a, b, c),
                    static_cast<Word>(Key(key)));
    }
  }
};

constexpr unsigned PickSources(Pick pick) { return pick <= Pick::kMax ? 2 : 3; }

// Element E of a storage type: where a float of format F is in it.
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

template <typename F, PickLayout kLayout>
bool HasNan(const typename F::Word* row, unsigned lanes) {
  using Word = typename F::Word;
  Word any = 0;
  for (unsigned i = 0; i < lanes; ++i) {
    if constexpr (kLayout == PickLayout::kWhole) {
      any |= Picker<F>::IsNan(row[i]);
    } else {
      any |= Picker<F>::IsNan(row[i] << 16);
      if constexpr (kLayout == PickLayout::kBothHalves)
        any |= Picker<F>::IsNan(row[i] & 0xFFFF0000u);
    }
  }
  return any != 0;
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
  } else if (!HasNan<F, kLayout>(a, lanes) && !HasNan<F, kLayout>(b, lanes) &&
             (c == b || !HasNan<F, kLayout>(c, lanes))) {
    PickLoop<F, kLayout, kPick, {false, false, true}, false>(d, a, b, c, lanes);
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
  bool is_rdna = (wave.architecture->bit & kRdnaTargets) != 0;
  LaneLoop loop = kLoops[IeeeMode(wave)][is_rdna];
  return RunVector(wave, op, loop, op->row->types[0], op->imm2 != 0);
}

// gfx12 has no IEEE mode, but two kinds of each instruction.
template <typename F, PickLayout kLayout, Pick kPick, PickRules kRules>
const Op* ExecPickBy(Wave& wave, const Op* op) {
  return RunVector(wave, op, &PickLanes<F, kLayout, kPick, kRules>, op->row->types[0],
                   op->imm2 != 0);
}

inline constexpr PickRules kNumbersWin = {
    .ieee = false, .first_of_two_nans = true, .quiets_two = true};
inline constexpr PickRules kNansWin = {
    .ieee = false, .first_of_two_nans = true, .propagates = true};

template <typename F, PickLayout kLayout, Pick kPick, Ty kType>
constexpr Row PickRow(std::string_view mnemonic, uint32_t flags = 0,
                      decltype(Row::prepare) prepare = nullptr) {
  Row row{mnemonic, &ExecPick<F, kLayout, kPick>, {kType, kType, kType}};
  if (PickSources(kPick) == 3) row.types[3] = kType;
  row.flags = flags;
  row.prepare = prepare;
  return row;
}

template <typename F, PickLayout kLayout, Pick kPick, Ty kType, PickRules kRules>
constexpr Row PickRowBy(std::string_view mnemonic, decltype(Row::prepare) prepare = nullptr) {
  Row row = PickRow<F, kLayout, kPick, kType>(mnemonic, 0, prepare);
  row.exec = &ExecPickBy<F, kLayout, kPick, kRules>;
  row.targets = kGfx12Targets;
  return row;
}

}  // namespace rochound::softgpu
