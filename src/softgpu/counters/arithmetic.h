// SPDX-License-Identifier: MIT
//
// What an instruction computes: operations by unit, type of number and kind, from its name alone.
// docs/softgpu-counters.md says what counts as how many. Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rochound::softgpu {

enum class ArithmeticUnit : uint8_t {
  kVector,  // once for each active lane
  kMatrix,  // once for the whole wave: EXEC does not matter
  kScalar,  // once for the whole wave
};
inline constexpr unsigned kArithmeticUnits = 3;
std::string_view NameOf(ArithmeticUnit unit);

// Integers have no sign here: an addition is the same for both.
enum class NumberType : uint8_t {
  kF64,
  kF32,
  kXF32,
  kF16,
  kBF16,
  kFP8,  // and bf8
  kFP6,  // and bf6
  kFP4,
  kF8F6F4,  // a matrix instruction whose modifiers say which
  kI64,
  kI32,
  kI16,
  kI8,
  kI4,
};
inline constexpr unsigned kNumberTypes = 14;
std::string_view NameOf(NumberType type);

enum class OperationKind : uint8_t {
  kAdd,             // and subtract
  kMultiply,        //
  kMultiplyAdd,     // each is two operations
  kTranscendental,  // exp, log, rcp, rsq, sqrt, sin, cos
  kCompare,         // comparisons, minima and maxima
  kConvert,
  kBits,   // logic and shifts
  kOther,  // rounding, exponents, steps of a division, sums of differences
};
inline constexpr unsigned kOperationKinds = 8;
std::string_view NameOf(OperationKind kind);
// What the vendor's formulas call an operation too; the rest is counted beside it.
inline constexpr bool IsArithmetic(OperationKind kind) {
  return kind <= OperationKind::kTranscendental;
}

struct Operation {
  NumberType type = NumberType::kF32;
  OperationKind kind = OperationKind::kOther;
  uint32_t count = 0;  // of a lane, or of the wave
};

struct Arithmetic {
  bool is_known = false;  // false: a vector instruction that nobody has described yet
  ArithmeticUnit unit = ArithmeticUnit::kVector;
  std::array<Operation, 2> operations{};  // a count of 0 ends them; moves have none
};

// `multiplications` are a matrix instruction's.
Arithmetic DescribeArithmetic(std::string_view mnemonic, uint32_t multiplications);

using OperationSums =
    std::array<std::array<std::array<uint64_t, kOperationKinds>, kNumberTypes>, kArithmeticUnits>;

}  // namespace rochound::softgpu
