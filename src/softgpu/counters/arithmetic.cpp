// SPDX-License-Identifier: MIT
#include "softgpu/counters/arithmetic.h"

#include <algorithm>
#include <optional>

namespace rochound::softgpu {
namespace {

using enum OperationKind;

constexpr std::array<std::string_view, kArithmeticUnits> kUnitNames = {"vector", "matrix",
                                                                       "scalar"};
constexpr std::array<std::string_view, kNumberTypes> kTypeNames = {
    "f64", "f32",    "xf32", "f16", "bf16", "fp8", "fp6",
    "fp4", "f8f6f4", "i64",  "i32", "i16",  "i8",  "i4"};
constexpr std::array<std::string_view, kOperationKinds> kKindNames = {
    "add", "multiply", "multiply_add", "transcendental", "compare", "convert", "bits", "other"};

struct TypeWord {
  std::string_view word;
  NumberType type;
};
constexpr TypeWord kTypeWords[] = {
    {"f64", NumberType::kF64}, {"f32", NumberType::kF32},   {"xf32", NumberType::kXF32},
    {"f16", NumberType::kF16}, {"bf16", NumberType::kBF16}, {"fp8", NumberType::kFP8},
    {"bf8", NumberType::kFP8}, {"fp6", NumberType::kFP6},   {"bf6", NumberType::kFP6},
    {"fp4", NumberType::kFP4}, {"i64", NumberType::kI64},   {"u64", NumberType::kI64},
    {"b64", NumberType::kI64}, {"i32", NumberType::kI32},   {"u32", NumberType::kI32},
    {"b32", NumberType::kI32}, {"i24", NumberType::kI32},   {"u24", NumberType::kI32},
    {"i16", NumberType::kI16}, {"u16", NumberType::kI16},   {"b16", NumberType::kI16},
    {"i8", NumberType::kI8},   {"u8", NumberType::kI8},     {"iu8", NumberType::kI8},
    {"i4", NumberType::kI4},   {"u4", NumberType::kI4},     {"iu4", NumberType::kI4},
};

// After "v_", "v_pk_", "v_dual_" or "s_": the first row that a name starts with is its own.
struct NameRow {
  std::string_view start;
  OperationKind kind = kOther;
  uint32_t count = 0;  // 0: computes nothing
  OperationKind second = kOther;
  uint32_t second_count = 0;
};
constexpr NameRow kVectorNames[] = {
    // Several in one.
    {"add3_", kAdd, 2},
    {"add_lshl_", kAdd, 1, kBits, 1},
    {"lshl_add_", kAdd, 1, kBits, 1},
    {"xad_", kAdd, 1, kBits, 1},
    {"lshl_or_", kBits, 2},
    {"and_or_", kBits, 2},
    {"or3_", kBits, 2},
    {"xor3_", kBits, 2},
    {"bitop3_", kBits, 2},
    {"med3_", kCompare, 2},
    {"min3_", kCompare, 2},
    {"max3_", kCompare, 2},
    {"minimum3_", kCompare, 2},
    {"maximum3_", kCompare, 2},
    {"minmax_", kCompare, 2},
    {"maxmin_", kCompare, 2},
    {"minimummaximum_", kCompare, 2},
    {"maximumminimum_", kCompare, 2},
    {"fma", kMultiplyAdd, 2},  // fmac, fmaak, fmamk, fma_mix, ...
    {"mad", kMultiplyAdd, 2},
    {"mac_", kMultiplyAdd, 2},
    {"div_fmas_", kMultiplyAdd, 2},
    // One.
    {"add", kAdd, 1},
    {"sub", kAdd, 1},
    {"mul", kMultiply, 1},
    {"exp_", kTranscendental, 1},
    {"log_", kTranscendental, 1},
    {"rcp_", kTranscendental, 1},
    {"rsq_", kTranscendental, 1},
    {"sqrt_", kTranscendental, 1},
    {"sin_", kTranscendental, 1},
    {"cos_", kTranscendental, 1},
    {"cmp", kCompare, 1},
    {"min", kCompare, 1},
    {"max", kCompare, 1},
    {"cvt_", kConvert, 1},
    {"and_", kBits, 1},
    {"or_", kBits, 1},
    {"xor_", kBits, 1},
    {"xnor_", kBits, 1},
    {"not_", kBits, 1},
    {"lshl", kBits, 1},
    {"lshr", kBits, 1},
    {"ashr", kBits, 1},
    {"bfe_", kBits, 1},
    {"bfi_", kBits, 1},
    {"bfm_", kBits, 1},
    {"bfrev_", kBits, 1},
    {"bcnt_", kBits, 1},
    {"mbcnt_", kBits, 1},
    {"ffb", kBits, 1},
    {"clz_", kBits, 1},
    {"cls_", kBits, 1},
    {"ctz_", kBits, 1},
    {"alignb", kBits, 1},
    {"perm_", kBits, 1},
    {"sat_pk_", kBits, 1},
    {"prng_", kBits, 1},
    {"floor_", kOther, 1},
    {"ceil_", kOther, 1},
    {"trunc_", kOther, 1},
    {"rndne_", kOther, 1},
    {"fract_", kOther, 1},
    {"frexp_", kOther, 1},
    {"ldexp_", kOther, 1},
    {"div_scale_", kOther, 1},
    {"div_fixup_", kOther, 1},
    {"trig_preop_", kOther, 1},
    {"cube", kOther, 1},
    {"lerp_", kOther, 1},
    {"sad_", kOther, 1},
    {"msad_", kOther, 1},
    {"qsad_", kOther, 1},
    {"mqsad_", kOther, 1},
    // Moves.
    {"mov"},
    {"cndmask_"},
    {"readlane_"},
    {"readfirstlane_"},
    {"writelane_"},
    {"swap"},
    {"permlane"},
    {"accvgpr_"},
    {"pack_"},
    {"nop"},
    {"pipeflush"},
    {"clrexcp"},
};
// Of the scalar unit, what the vector unit has no name for.
constexpr NameRow kScalarNames[] = {
    {"lshl1_add_", kAdd, 1, kBits, 1},
    {"lshl2_add_", kAdd, 1, kBits, 1},
    {"lshl3_add_", kAdd, 1, kBits, 1},
    {"lshl4_add_", kAdd, 1, kBits, 1},
    {"absdiff_", kAdd, 1, kOther, 1},
    {"abs_", kOther, 1},
    {"nand_", kBits, 1},
    {"nor_", kBits, 1},
    {"andn", kBits, 1},
    {"orn", kBits, 1},
    {"brev_", kBits, 1},
    {"ff", kBits, 1},
    {"flbit_", kBits, 1},
    {"bit", kBits, 1},
    {"sext_", kBits, 1},
};

// Calls body(word) for the words between underscores until it returns true.
template <typename Body>
void ForWords(std::string_view text, Body&& body) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('_'), text.size());
    if (body(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::optional<NumberType> TypeIn(std::string_view name, bool last) {
  std::optional<NumberType> found;
  ForWords(name, [&](std::string_view word) {
    for (const TypeWord& known : kTypeWords) {
      if (word == known.word) found = known.type;
    }
    return found.has_value() && !last;
  });
  return found;
}

// Numbers that one conversion makes.
uint32_t ConvertedAtOnce(std::string_view name) {
  if (name.starts_with("cvt_pk_u8_f32")) return 1;  // one byte among four
  uint32_t count = 1;
  ForWords(name, [&](std::string_view word) {
    if (word == "pk" || word == "pkrtz" || word == "pknorm") count = 2;
    if (word == "pk8") count = 8;
    if (word == "pk16") count = 16;
    if (word == "pk32" || word == "2xpk16") count = 32;
    return false;
  });
  return count;
}

NumberType MatrixType(std::string_view mnemonic) {
  // The sources' type is after the shape, or at its end (v_mfma_f32_4x4x1f32).
  const std::string_view types = mnemonic.substr(std::min(mnemonic.find('x'), mnemonic.size()));
  static constexpr TypeWord kInOrder[] = {
      {"f8f6f4", NumberType::kF8F6F4}, {"_xf32", NumberType::kXF32}, {"f64", NumberType::kF64},
      {"bf16", NumberType::kBF16},     {"f16", NumberType::kF16},    {"fp8", NumberType::kFP8},
      {"bf8", NumberType::kFP8},       {"f32", NumberType::kF32},    {"iu4", NumberType::kI4},
      {"i8", NumberType::kI8},         {"iu8", NumberType::kI8}};
  for (const TypeWord& known : kInOrder) {
    if (types.find(known.word) != std::string_view::npos) return known.type;
  }
  return NumberType::kF32;
}

Arithmetic DescribeName(std::string_view name, ArithmeticUnit unit) {
  Arithmetic arithmetic{.unit = unit};
  uint32_t factor = 1;
  if (name.starts_with("dual_")) name.remove_prefix(5);
  if (name.starts_with("pk_")) {
    name.remove_prefix(3);
    factor = 2;
  }
  if (name.starts_with("dot") && name.size() > 3) {  // a product of so many pairs, and a sum
    const auto pairs = static_cast<uint32_t>(name[3] - '0');
    arithmetic.operations[0] = {TypeIn(name, true).value_or(NumberType::kF32), kMultiplyAdd,
                                2 * pairs};
    arithmetic.is_known = pairs <= 8;
    return arithmetic;
  }
  auto look = [&](const auto& rows) {
    for (const NameRow& row : rows) {
      if (!name.starts_with(row.start)) continue;
      arithmetic.is_known = true;
      if (row.count == 0) return true;
      // fma_mixlo_f16 computes in 32 bits; frexp_exp_i32_f32 is about its source.
      const bool is_mix = name.starts_with("fma_mix");
      const NumberType type =
          is_mix ? NumberType::kF32
                 : TypeIn(name, name.starts_with("frexp_")).value_or(NumberType::kI32);
      if (row.kind == kConvert) factor = ConvertedAtOnce(name);
      arithmetic.operations[0] = {type, row.kind, row.count * factor};
      arithmetic.operations[1] = {type, row.second, row.second_count * factor};
      return true;
    }
    return false;
  };
  if (unit == ArithmeticUnit::kScalar && look(kScalarNames)) return arithmetic;
  look(kVectorNames);
  return arithmetic;
}

}  // namespace

std::string_view NameOf(ArithmeticUnit unit) { return kUnitNames[static_cast<unsigned>(unit)]; }
std::string_view NameOf(NumberType type) { return kTypeNames[static_cast<unsigned>(type)]; }
std::string_view NameOf(OperationKind kind) { return kKindNames[static_cast<unsigned>(kind)]; }

Arithmetic DescribeArithmetic(std::string_view mnemonic, uint32_t multiplications) {
  if (multiplications != 0) {
    Arithmetic arithmetic{.is_known = true, .unit = ArithmeticUnit::kMatrix};
    arithmetic.operations[0] = {MatrixType(mnemonic), kMultiplyAdd, 2 * multiplications};
    return arithmetic;
  }
  if (mnemonic.starts_with("v_s_"))
    return DescribeName(mnemonic.substr(4), ArithmeticUnit::kScalar);
  if (mnemonic.starts_with("s_")) return DescribeName(mnemonic.substr(2), ArithmeticUnit::kScalar);
  if (mnemonic.starts_with("v_")) return DescribeName(mnemonic.substr(2), ArithmeticUnit::kVector);
  return {};
}

}  // namespace rochound::softgpu
