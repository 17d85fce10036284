// SPDX-License-Identifier: MIT
//
// The matrix core of the CDNA targets: v_mfma_* (D = A * B + C for one or more blocks), v_smfmac_*
// (A is 4:2 sparse) and the moves between VGPRs and AGPRs. EXEC and MODE are ignored, as the manual
// says. gfx90a spells the same instructions without the last underscores, and its f16 and bf16
// flush denormals. gfx950's v_mfma_*_f8f6f4 are in matrix_scaled.cpp.
//
// Floats are accumulated by one fma per k, in the order of k, rounded to nearest, denormals kept.
// That is a choice: in which order and with how many bits hardware adds is not documented, and no
// claim is made that its last bits are the same.
//
// Where an element is in the registers (64 lanes):
//   A[i][k], B[k][j]  lane = row + outer * block + outer * blocks * (k / per_lane), where row is i
//                     or j and outer is M or N; element k % per_lane of the lane's registers.
//   C, D[i][j]        strips of 4 rows (f64: 1 row): a strip is N lanes wide and one register per
//                     row high; strips fill the lanes, then go on in the next registers.
#include <array>
#include <cstring>

#include "softgpu/isa/semantics/mini_float.h"
#include "softgpu/isa/semantics/ocp_float.h"
#include "softgpu/isa/tables.h"
#include "softgpu/isa/vector.h"

namespace rochound::softgpu {
namespace {

constexpr unsigned kLanes = 64;
constexpr uint32_t kSince942 = kGfx942 | kGfx950;

// ---- Element types ----

struct SingleElement {
  using Sum = float;
  static constexpr unsigned kBits = 32;
  static Sum Decode(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
};
// A float of which the core uses 10 mantissa bits, here rounded to nearest even.
struct XSingleElement {
  using Sum = float;
  static constexpr unsigned kBits = 32;
  static Sum Decode(uint64_t bits) {
    uint32_t word = static_cast<uint32_t>(bits);
    if ((word & 0x7F800000u) == 0x7F800000u) return std::bit_cast<float>(word);
    return std::bit_cast<float>((word + 0xFFFu + (word >> 13 & 1)) & ~0x1FFFu);
  }
};
inline float Flush(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>(bits & 0x7F800000u ? bits : bits & 0x80000000u);
}
struct HalfElement {
  using Sum = float;
  static constexpr unsigned kBits = 16;
  static Sum Decode(uint64_t bits) { return HalfToFloat(static_cast<uint32_t>(bits)); }
};
struct BrainElement {
  using Sum = float;
  static constexpr unsigned kBits = 16;
  static Sum Decode(uint64_t bits) { return BrainToFloat(static_cast<uint32_t>(bits) & 0xFFFF); }
};
// gfx90a: denormal inputs, addends and results count as zero.
struct FlushedHalfElement : HalfElement {
  static constexpr bool kFlushes = true;
  static Sum Decode(uint64_t bits) {
    return HalfElement::Decode(bits & 0x7C00 ? bits : bits & 0x8000);
  }
};
struct FlushedBrainElement : BrainElement {
  static constexpr bool kFlushes = true;
  static Sum Decode(uint64_t bits) { return Flush(BrainElement::Decode(bits)); }
};
template <typename Element>
constexpr bool Flushes() {
  return requires { Element::kFlushes; };
}
template <typename Mini>
struct MiniElement {
  using Sum = float;
  static constexpr unsigned kBits = 8;
  static Sum Decode(uint64_t bits) { return Mini::kTable[bits & 0xFF]; }
};
using Fp8Element = MiniElement<Fp8>;
using Bf8Element = MiniElement<Bf8>;
using OcpFp8Element = MiniElement<OcpFp8>;
using OcpBf8Element = MiniElement<OcpBf8>;
struct ByteElement {
  using Sum = int32_t;
  static constexpr unsigned kBits = 8;
  static Sum Decode(uint64_t bits) { return static_cast<int8_t>(bits); }
};
struct DoubleElement {
  using Sum = double;
  static constexpr unsigned kBits = 64;
  static Sum Decode(uint64_t bits) { return std::bit_cast<double>(bits); }
};

inline float MultiplyAdd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double MultiplyAdd(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline int32_t MultiplyAdd(int32_t a, int32_t b, int32_t c) {  // wraps
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b) +
                              static_cast<uint32_t>(c));
}

// Bits of element `index` of a lane, counted from register row `first`.
template <unsigned kBits>
uint64_t ElementBits(const Wave& wave, unsigned first, unsigned index, unsigned lane) {
  if constexpr (kBits == 64) {
    return wave.Row(first + 2 * index)[lane] | uint64_t{wave.Row(first + 2 * index + 1)[lane]}
                                                   << 32;
  } else {
    constexpr unsigned kPerWord = 32 / kBits;
    return wave.Row(first + index / kPerWord)[lane] >> (kBits * (index % kPerWord));
  }
}

// The lane whose B value lane `lane` uses.
unsigned BroadcastLane(unsigned pattern, unsigned lane) {
  switch (pattern) {
    case 0:
      return lane;
    case 1:
      return lane % 32;
    case 2:
      return lane % 32 + 32;
    case 3:
      return (lane + 16) % 64;
    default:
      return lane % 16 + 16 * (pattern - 4);
  }
}

// ---- Shapes ----

template <unsigned kM, unsigned kN, unsigned kK, unsigned kBlocks, typename A, typename B>
struct Product {
  using Sum = typename A::Sum;
  using Element = A;
  static constexpr unsigned kPerLane = kK * kM * kBlocks / kLanes;  // of A and of B, as M = N
  static constexpr unsigned kInputRegisters = (kPerLane * A::kBits + 31) / 32;
  static constexpr unsigned kSumWords = sizeof(Sum) / 4;
  static constexpr unsigned kOutputRegisters = kBlocks * kM * kN / kLanes * kSumWords;
  static_assert(kM == kN && A::kBits == B::kBits);

  using Sums = std::array<std::array<std::array<Sum, kN>, kM>, kBlocks>;

  // Calls visit(register, lane, element of sums) for every element of C or D.
  template <typename Visit>
  static void ForOutput(Sums& sums, Visit visit) {
    constexpr unsigned kStrip = kSumWords == 2 ? 1 : 4;
    constexpr unsigned kStripsPerRegister = kLanes / kN;
    constexpr unsigned kBlocksPerRegister =
        kM * kN / kStrip < kLanes ? kLanes * kStrip / (kM * kN) : 1;
    for (unsigned b = 0; b < kBlocks; ++b) {
      for (unsigned i = 0; i < kM; ++i) {
        unsigned reg =
            b * (kM * kN / kLanes) + i / (kStrip * kStripsPerRegister) * kStrip + i % kStrip;
        unsigned lane =
            b % kBlocksPerRegister * kN + i / kStrip % kStripsPerRegister * kBlocksPerRegister * kN;
        for (unsigned j = 0; j < kN; ++j)
          visit(reg * kSumWords, (lane + j) % kLanes, sums[b][i][j]);
      }
    }
  }

  static void ReadSums(const Wave& wave, const Operand& operand, bool negate, Sums& sums) {
    ForOutput(sums, [&](unsigned reg, unsigned lane, Sum& sum) {
      uint64_t bits = operand.value;
      if (operand.kind == Operand::Kind::kVector) {
        bits = wave.Row(operand.index + reg)[lane];
        if constexpr (kSumWords == 2)
          bits |= uint64_t{wave.Row(operand.index + reg + 1)[lane]} << 32;
      }
      if constexpr (kSumWords == 2) {
        sum = std::bit_cast<Sum>(bits);
        if (negate) sum = -sum;
      } else {
        sum = std::bit_cast<Sum>(static_cast<uint32_t>(bits));
        if constexpr (Flushes<A>()) sum = Flush(sum);
      }
    });
  }

  static void WriteSums(Wave& wave, const Operand& operand, Sums& sums) {
    ForOutput(sums, [&](unsigned reg, unsigned lane, Sum& sum) {
      if constexpr (kSumWords == 2) {
        uint64_t bits = std::bit_cast<uint64_t>(sum);
        wave.Row(operand.index + reg)[lane] = static_cast<uint32_t>(bits);
        wave.Row(operand.index + reg + 1)[lane] = static_cast<uint32_t>(bits >> 32);
      } else {
        if constexpr (Flushes<A>()) sum = Flush(sum);
        wave.Row(operand.index + reg)[lane] = std::bit_cast<uint32_t>(sum);
      }
    });
  }
};

bool IsRegisters(const Operand& operand, unsigned dwords) {
  return operand.kind == Operand::Kind::kVector && operand.dwords == dwords;
}

// ---- Dense ----

template <unsigned kM, unsigned kK, unsigned kBlocks, typename A, typename B = A>
struct Dense : Product<kM, kM, kK, kBlocks, A, B> {
  using P = Product<kM, kM, kK, kBlocks, A, B>;
  using Sum = typename P::Sum;

  static const Op* Exec(Wave& wave, const Op* op) {
    const Modifiers& m = op->modifiers();
    unsigned pattern = A::kBits == 64 ? 0 : m.blgp;
    unsigned negate = A::kBits == 64 ? m.neg_lo | m.blgp : 0;
    Sum a[kBlocks][kM][kK];
    Sum b[kBlocks][kK][kM];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      unsigned row = lane % kM;
      unsigned block = lane / kM % kBlocks;
      unsigned first_k = lane / (kM * kBlocks) * P::kPerLane;
      unsigned b_lane = BroadcastLane(pattern, lane);
      for (unsigned e = 0; e < P::kPerLane; ++e) {
        Sum x = A::Decode(ElementBits<A::kBits>(wave, op->operand[1].index, e, lane));
        Sum y = B::Decode(ElementBits<B::kBits>(wave, op->operand[2].index, e, b_lane));
        a[block][row][first_k + e] = negate & 1 ? -x : x;
        b[block][first_k + e][row] = negate & 2 ? -y : y;
      }
    }
    typename P::Sums sums;
    P::ReadSums(wave, op->operand[3], negate & 4, sums);
    // One block of A may serve 2^cbsz blocks.
    unsigned group = (1u << m.cbsz) - 1;
    for (unsigned block = 0; block < kBlocks; ++block) {
      unsigned a_block = (block & ~group) + m.abid;
      for (unsigned i = 0; i < kM; ++i) {
        std::array<Sum, kM>& sum = sums[block][i];
        for (unsigned k = 0; k < kK; ++k) {
          Sum x = a[a_block][i][k];
          for (unsigned j = 0; j < kM; ++j) sum[j] = MultiplyAdd(x, b[block][k][j], sum[j]);
        }
      }
    }
    P::WriteSums(wave, op->operand[0], sums);
    return op + 1;
  }

  static bool Prepare(const AsmInstruction& instruction, const Architecture&, Op* op,
                      std::string* why) {
    const Modifiers& m = instruction.modifiers;
    bool has_patterns = A::kBits == 32 ? std::is_same_v<A, SingleElement> : kBlocks > 1;
    if (!IsRegisters(op->operand[0], P::kOutputRegisters) ||
        !IsRegisters(op->operand[1], P::kInputRegisters) ||
        !IsRegisters(op->operand[2], P::kInputRegisters) ||
        (!IsRegisters(op->operand[3], P::kOutputRegisters) &&
         op->operand[3].kind != Operand::Kind::kConstant)) {
      *why = "operands";
    } else if (A::kBits != 64 && ((m.blgp != 0 && !has_patterns) || m.neg_lo != 0)) {
      *why = "blgp";
    } else if ((1u << m.cbsz) > (A::kBits == 64 ? 1 : kBlocks) || m.abid >= 1u << m.cbsz) {
      *why = "cbsz or abid";
    } else {
      return true;
    }
    return false;
  }
};

template <unsigned kM, unsigned kK, unsigned kBlocks, typename A, typename B = A>
constexpr Row Mfma(std::string_view mnemonic, uint32_t targets = kSince942) {
  using D = Dense<kM, kK, kBlocks, A, B>;
  // A constant C has the type of the sum.
  constexpr Ty kC = A::kBits == 64 ? Ty::kF64 : Ty::kRaw;
  return {mnemonic, &D::Exec,   {Ty::kRaw, Ty::kRaw, Ty::kRaw, kC}, nullptr, kIgnoresExec,
          targets,  &D::Prepare};
}

// ---- Sparse ----

// Of every four consecutive k, A holds two; two bits per element say which. kK counts the k of B.
template <unsigned kM, unsigned kK, typename A, typename B = A>
struct Sparse : Product<kM, kM, kK, 1, A, B> {
  using P = Product<kM, kM, kK, 1, A, B>;
  using Sum = typename P::Sum;
  static constexpr unsigned kStored = kK / 2;
  static constexpr unsigned kStoredPerLane = P::kPerLane / 2;
  static constexpr unsigned kIndexBits = 2 * kStoredPerLane;  // per lane: a byte or a half

  static const Op* Exec(Wave& wave, const Op* op) {
    const Modifiers& m = op->modifiers();
    unsigned index_shift = m.cbsz == 0 ? m.abid * kIndexBits : 0;
    Sum a[kM][kStored];
    uint8_t k_of[kM][kStored];
    Sum b[kK][kM];
    const uint32_t* indices = wave.Row(op->operand[3].index);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      unsigned row = lane % kM;
      unsigned group = lane / kM;
      for (unsigned e = 0; e < kStoredPerLane; ++e) {
        unsigned which = indices[lane] >> (index_shift + 2 * e) & 3;
        unsigned stored = group * kStoredPerLane + e;
        a[row][stored] = A::Decode(ElementBits<A::kBits>(wave, op->operand[1].index, e, lane));
        k_of[row][stored] = static_cast<uint8_t>(stored / 2 * 4 + which);
      }
      for (unsigned e = 0; e < P::kPerLane; ++e)
        b[group * P::kPerLane + e][row] =
            B::Decode(ElementBits<B::kBits>(wave, op->operand[2].index, e, lane));
    }
    typename P::Sums sums;
    P::ReadSums(wave, op->operand[0], false, sums);
    for (unsigned i = 0; i < kM; ++i) {
      std::array<Sum, kM>& sum = sums[0][i];
      for (unsigned s = 0; s < kStored; ++s) {
        Sum x = a[i][s];
        const Sum* y = b[k_of[i][s]];
        for (unsigned j = 0; j < kM; ++j) sum[j] = MultiplyAdd(x, y[j], sum[j]);
      }
    }
    P::WriteSums(wave, op->operand[0], sums);
    return op + 1;
  }

  static bool Prepare(const AsmInstruction& instruction, const Architecture&, Op* op,
                      std::string* why) {
    const Modifiers& m = instruction.modifiers;
    if (!IsRegisters(op->operand[0], P::kOutputRegisters) ||
        !IsRegisters(op->operand[1], P::kInputRegisters / 2) ||
        !IsRegisters(op->operand[2], P::kInputRegisters) || !IsRegisters(op->operand[3], 1)) {
      *why = "operands";
    } else if (m.blgp != 0 || m.neg_lo != 0) {
      *why = "blgp";
    } else if (m.cbsz == 0 && m.abid >= 32 / kIndexBits) {
      *why = "abid";
    } else {
      return true;
    }
    return false;
  }
};

template <unsigned kM, unsigned kK, typename A, typename B = A>
constexpr Row Smfmac(std::string_view mnemonic, uint32_t targets = kSince942) {
  using S = Sparse<kM, kK, A, B>;
  return {mnemonic, &S::Exec,   {Ty::kRaw, Ty::kRaw, Ty::kRaw, Ty::kRaw}, nullptr, kIgnoresExec,
          targets,  &S::Prepare};
}

constexpr Row Move(std::string_view mnemonic) {
  return Vector<[](uint32_t x) { return x; }, Ty::kB32, Ty::kB32>(mnemonic, 0, kGfx9Targets);
}

constexpr Row kRows[] = {
    Move("v_accvgpr_read_b32"),
    Move("v_accvgpr_write_b32"),
    Move("v_accvgpr_mov_b32"),

    Mfma<32, 1, 2, SingleElement>("v_mfma_f32_32x32x1_2b_f32"),
    Mfma<16, 1, 4, SingleElement>("v_mfma_f32_16x16x1_4b_f32"),
    Mfma<4, 1, 16, SingleElement>("v_mfma_f32_4x4x1_16b_f32"),
    Mfma<32, 2, 1, SingleElement>("v_mfma_f32_32x32x2_f32"),
    Mfma<16, 4, 1, SingleElement>("v_mfma_f32_16x16x4_f32"),
    Mfma<32, 4, 1, XSingleElement>("v_mfma_f32_32x32x4_xf32", kGfx942),
    Mfma<16, 8, 1, XSingleElement>("v_mfma_f32_16x16x8_xf32", kGfx942),

    Mfma<32, 4, 2, HalfElement>("v_mfma_f32_32x32x4_2b_f16"),
    Mfma<16, 4, 4, HalfElement>("v_mfma_f32_16x16x4_4b_f16"),
    Mfma<4, 4, 16, HalfElement>("v_mfma_f32_4x4x4_16b_f16"),
    Mfma<32, 8, 1, HalfElement>("v_mfma_f32_32x32x8_f16"),
    Mfma<16, 16, 1, HalfElement>("v_mfma_f32_16x16x16_f16"),

    Mfma<32, 4, 2, BrainElement>("v_mfma_f32_32x32x4_2b_bf16"),
    Mfma<16, 4, 4, BrainElement>("v_mfma_f32_16x16x4_4b_bf16"),
    Mfma<4, 4, 16, BrainElement>("v_mfma_f32_4x4x4_16b_bf16"),
    Mfma<32, 8, 1, BrainElement>("v_mfma_f32_32x32x8_bf16"),
    Mfma<16, 16, 1, BrainElement>("v_mfma_f32_16x16x16_bf16"),

    Mfma<32, 4, 2, ByteElement>("v_mfma_i32_32x32x4_2b_i8"),
    Mfma<16, 4, 4, ByteElement>("v_mfma_i32_16x16x4_4b_i8"),
    Mfma<4, 4, 16, ByteElement>("v_mfma_i32_4x4x4_16b_i8"),
    Mfma<32, 16, 1, ByteElement>("v_mfma_i32_32x32x16_i8"),
    Mfma<16, 32, 1, ByteElement>("v_mfma_i32_16x16x32_i8"),

    Mfma<32, 16, 1, Bf8Element>("v_mfma_f32_32x32x16_bf8_bf8", kGfx942),
    Mfma<32, 16, 1, OcpBf8Element>("v_mfma_f32_32x32x16_bf8_bf8", kGfx950),
    Mfma<32, 16, 1, Bf8Element, Fp8Element>("v_mfma_f32_32x32x16_bf8_fp8", kGfx942),
    Mfma<32, 16, 1, OcpBf8Element, OcpFp8Element>("v_mfma_f32_32x32x16_bf8_fp8", kGfx950),
    Mfma<32, 16, 1, Fp8Element, Bf8Element>("v_mfma_f32_32x32x16_fp8_bf8", kGfx942),
    Mfma<32, 16, 1, OcpFp8Element, OcpBf8Element>("v_mfma_f32_32x32x16_fp8_bf8", kGfx950),
    Mfma<32, 16, 1, Fp8Element>("v_mfma_f32_32x32x16_fp8_fp8", kGfx942),
    Mfma<32, 16, 1, OcpFp8Element>("v_mfma_f32_32x32x16_fp8_fp8", kGfx950),
    Mfma<16, 32, 1, Bf8Element>("v_mfma_f32_16x16x32_bf8_bf8", kGfx942),
    Mfma<16, 32, 1, OcpBf8Element>("v_mfma_f32_16x16x32_bf8_bf8", kGfx950),
    Mfma<16, 32, 1, Bf8Element, Fp8Element>("v_mfma_f32_16x16x32_bf8_fp8", kGfx942),
    Mfma<16, 32, 1, OcpBf8Element, OcpFp8Element>("v_mfma_f32_16x16x32_bf8_fp8", kGfx950),
    Mfma<16, 32, 1, Fp8Element, Bf8Element>("v_mfma_f32_16x16x32_fp8_bf8", kGfx942),
    Mfma<16, 32, 1, OcpFp8Element, OcpBf8Element>("v_mfma_f32_16x16x32_fp8_bf8", kGfx950),
    Mfma<16, 32, 1, Fp8Element>("v_mfma_f32_16x16x32_fp8_fp8", kGfx942),
    Mfma<16, 32, 1, OcpFp8Element>("v_mfma_f32_16x16x32_fp8_fp8", kGfx950),

    Mfma<16, 4, 1, DoubleElement>("v_mfma_f64_16x16x4_f64"),
    Mfma<4, 4, 4, DoubleElement>("v_mfma_f64_4x4x4_4b_f64"),

    Smfmac<16, 32, HalfElement>("v_smfmac_f32_16x16x32_f16"),
    Smfmac<32, 16, HalfElement>("v_smfmac_f32_32x32x16_f16"),
    Smfmac<16, 32, BrainElement>("v_smfmac_f32_16x16x32_bf16"),
    Smfmac<32, 16, BrainElement>("v_smfmac_f32_32x32x16_bf16"),
    Smfmac<16, 64, ByteElement>("v_smfmac_i32_16x16x64_i8"),
    Smfmac<32, 32, ByteElement>("v_smfmac_i32_32x32x32_i8"),
    Smfmac<16, 64, Bf8Element>("v_smfmac_f32_16x16x64_bf8_bf8", kGfx942),
    Smfmac<16, 64, OcpBf8Element>("v_smfmac_f32_16x16x64_bf8_bf8", kGfx950),
    Smfmac<16, 64, Bf8Element, Fp8Element>("v_smfmac_f32_16x16x64_bf8_fp8", kGfx942),
    Smfmac<16, 64, OcpBf8Element, OcpFp8Element>("v_smfmac_f32_16x16x64_bf8_fp8", kGfx950),
    Smfmac<16, 64, Fp8Element, Bf8Element>("v_smfmac_f32_16x16x64_fp8_bf8", kGfx942),
    Smfmac<16, 64, OcpFp8Element, OcpBf8Element>("v_smfmac_f32_16x16x64_fp8_bf8", kGfx950),
    Smfmac<16, 64, Fp8Element>("v_smfmac_f32_16x16x64_fp8_fp8", kGfx942),
    Smfmac<16, 64, OcpFp8Element>("v_smfmac_f32_16x16x64_fp8_fp8", kGfx950),
    Smfmac<32, 32, Bf8Element>("v_smfmac_f32_32x32x32_bf8_bf8", kGfx942),
    Smfmac<32, 32, OcpBf8Element>("v_smfmac_f32_32x32x32_bf8_bf8", kGfx950),
    Smfmac<32, 32, Bf8Element, Fp8Element>("v_smfmac_f32_32x32x32_bf8_fp8", kGfx942),
    Smfmac<32, 32, OcpBf8Element, OcpFp8Element>("v_smfmac_f32_32x32x32_bf8_fp8", kGfx950),
    Smfmac<32, 32, Fp8Element, Bf8Element>("v_smfmac_f32_32x32x32_fp8_bf8", kGfx942),
    Smfmac<32, 32, OcpFp8Element, OcpBf8Element>("v_smfmac_f32_32x32x32_fp8_bf8", kGfx950),
    Smfmac<32, 32, Fp8Element>("v_smfmac_f32_32x32x32_fp8_fp8", kGfx942),
    Smfmac<32, 32, OcpFp8Element>("v_smfmac_f32_32x32x32_fp8_fp8", kGfx950),

    // gfx90a.
    Mfma<32, 1, 2, SingleElement>("v_mfma_f32_32x32x1f32", kGfx90a),
    Mfma<16, 1, 4, SingleElement>("v_mfma_f32_16x16x1f32", kGfx90a),
    Mfma<4, 1, 16, SingleElement>("v_mfma_f32_4x4x1f32", kGfx90a),
    Mfma<32, 2, 1, SingleElement>("v_mfma_f32_32x32x2f32", kGfx90a),
    Mfma<16, 4, 1, SingleElement>("v_mfma_f32_16x16x4f32", kGfx90a),
    Mfma<32, 4, 2, FlushedHalfElement>("v_mfma_f32_32x32x4f16", kGfx90a),
    Mfma<16, 4, 4, FlushedHalfElement>("v_mfma_f32_16x16x4f16", kGfx90a),
    Mfma<4, 4, 16, FlushedHalfElement>("v_mfma_f32_4x4x4f16", kGfx90a),
    Mfma<32, 8, 1, FlushedHalfElement>("v_mfma_f32_32x32x8f16", kGfx90a),
    Mfma<16, 16, 1, FlushedHalfElement>("v_mfma_f32_16x16x16f16", kGfx90a),
    Mfma<32, 2, 2, FlushedBrainElement>("v_mfma_f32_32x32x2bf16", kGfx90a),
    Mfma<16, 2, 4, FlushedBrainElement>("v_mfma_f32_16x16x2bf16", kGfx90a),
    Mfma<4, 2, 16, FlushedBrainElement>("v_mfma_f32_4x4x2bf16", kGfx90a),
    Mfma<32, 4, 1, FlushedBrainElement>("v_mfma_f32_32x32x4bf16", kGfx90a),
    Mfma<16, 8, 1, FlushedBrainElement>("v_mfma_f32_16x16x8bf16", kGfx90a),
    Mfma<32, 4, 2, FlushedBrainElement>("v_mfma_f32_32x32x4bf16_1k", kGfx90a),
    Mfma<16, 4, 4, FlushedBrainElement>("v_mfma_f32_16x16x4bf16_1k", kGfx90a),
    Mfma<4, 4, 16, FlushedBrainElement>("v_mfma_f32_4x4x4bf16_1k", kGfx90a),
    Mfma<32, 8, 1, FlushedBrainElement>("v_mfma_f32_32x32x8bf16_1k", kGfx90a),
    Mfma<16, 16, 1, FlushedBrainElement>("v_mfma_f32_16x16x16bf16_1k", kGfx90a),
    Mfma<32, 4, 2, ByteElement>("v_mfma_i32_32x32x4i8", kGfx90a),
    Mfma<16, 4, 4, ByteElement>("v_mfma_i32_16x16x4i8", kGfx90a),
    Mfma<4, 4, 16, ByteElement>("v_mfma_i32_4x4x4i8", kGfx90a),
    Mfma<32, 8, 1, ByteElement>("v_mfma_i32_32x32x8i8", kGfx90a),
    Mfma<16, 16, 1, ByteElement>("v_mfma_i32_16x16x16i8", kGfx90a),
    Mfma<16, 4, 1, DoubleElement>("v_mfma_f64_16x16x4f64", kGfx90a),
    Mfma<4, 4, 4, DoubleElement>("v_mfma_f64_4x4x4f64", kGfx90a),

    // gfx950: twice as deep.
    Mfma<16, 32, 1, HalfElement>("v_mfma_f32_16x16x32_f16", kGfx950),
    Mfma<32, 16, 1, HalfElement>("v_mfma_f32_32x32x16_f16", kGfx950),
    Mfma<16, 32, 1, BrainElement>("v_mfma_f32_16x16x32_bf16", kGfx950),
    Mfma<32, 16, 1, BrainElement>("v_mfma_f32_32x32x16_bf16", kGfx950),
    Mfma<16, 64, 1, ByteElement>("v_mfma_i32_16x16x64_i8", kGfx950),
    Mfma<32, 32, 1, ByteElement>("v_mfma_i32_32x32x32_i8", kGfx950),
    Smfmac<16, 64, HalfElement>("v_smfmac_f32_16x16x64_f16", kGfx950),
    Smfmac<32, 32, HalfElement>("v_smfmac_f32_32x32x32_f16", kGfx950),
    Smfmac<16, 64, BrainElement>("v_smfmac_f32_16x16x64_bf16", kGfx950),
    Smfmac<32, 32, BrainElement>("v_smfmac_f32_32x32x32_bf16", kGfx950),
    Smfmac<16, 128, ByteElement>("v_smfmac_i32_16x16x128_i8", kGfx950),
    Smfmac<32, 64, ByteElement>("v_smfmac_i32_32x32x64_i8", kGfx950),
    Smfmac<16, 128, OcpBf8Element>("v_smfmac_f32_16x16x128_bf8_bf8", kGfx950),
    Smfmac<16, 128, OcpBf8Element, OcpFp8Element>("v_smfmac_f32_16x16x128_bf8_fp8", kGfx950),
    Smfmac<16, 128, OcpFp8Element, OcpBf8Element>("v_smfmac_f32_16x16x128_fp8_bf8", kGfx950),
    Smfmac<16, 128, OcpFp8Element>("v_smfmac_f32_16x16x128_fp8_fp8", kGfx950),
    Smfmac<32, 64, OcpBf8Element>("v_smfmac_f32_32x32x64_bf8_bf8", kGfx950),
    Smfmac<32, 64, OcpBf8Element, OcpFp8Element>("v_smfmac_f32_32x32x64_bf8_fp8", kGfx950),
    Smfmac<32, 64, OcpFp8Element, OcpBf8Element>("v_smfmac_f32_32x32x64_fp8_bf8", kGfx950),
    Smfmac<32, 64, OcpFp8Element>("v_smfmac_f32_32x32x64_fp8_fp8", kGfx950),
};

}  // namespace

std::span<const Row> MatrixRows() { return kRows; }

}  // namespace rochound::softgpu
