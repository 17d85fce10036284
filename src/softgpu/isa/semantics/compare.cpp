// SPDX-License-Identifier: MIT
//
// v_cmp, v_cmpx and v_cmp_class. The mnemonics are made of a predicate and a type, so the rows are
// made from the two lists. On gfx9 v_cmpx writes its destination and exec; on gfx10 it has no
// destination and writes exec only.
#include <array>
#include <bit>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "softgpu/isa/semantics/float_lanes.h"
#include "softgpu/isa/semantics/row_chunks.h"
#include "softgpu/isa/tables.h"
#include "softgpu/isa/vector.h"

namespace rochound::softgpu {
namespace {

// ---- Names ----

struct Name {
  char text[24] = {};
  size_t length = 0;
  constexpr void Append(std::string_view part) {
    for (char c : part) text[length++] = c;
  }
  constexpr std::string_view view() const { return {text, length}; }
};

constexpr std::string_view TypeName(Ty type) {
  switch (type) {
    case Ty::kF16:
      return "f16";
    case Ty::kF32:
      return "f32";
    case Ty::kF64:
      return "f64";
    case Ty::kI16:
      return "i16";
    case Ty::kU16:
      return "u16";
    case Ty::kI32:
      return "i32";
    case Ty::kU32:
      return "u32";
    case Ty::kI64:
      return "i64";
    default:
      return "u64";
  }
}

constexpr Name MakeName(std::string_view prefix, std::string_view predicate, Ty type) {
  Name name;
  name.Append(prefix);
  name.Append(predicate);
  name.Append("_");
  name.Append(TypeName(type));
  return name;
}

// ---- Predicates ----
// As hardware numbers them. A float predicate with n in front is true for NaN, where its opposite
// is false.

constexpr std::string_view kFloatPredicates[] = {"f",   "lt",  "eq",  "le",  "gt",  "lg",
                                                 "ge",  "o",   "u",   "nge", "nlg", "ngt",
                                                 "nle", "neq", "nlt", "tru"};
constexpr std::string_view kIntPredicates[] = {"f", "lt", "eq", "le", "gt", "ne", "ge", "t"};
constexpr size_t kAlwaysInt = 7;

template <size_t Predicate>
struct FloatTest {
  template <typename T>
  constexpr bool operator()(T a, T b) const {
    if constexpr (Predicate >= 8) {
      return !FloatTest<15 - Predicate>{}(a, b);
    } else if constexpr (Predicate == 0) {
      return false;
    } else if constexpr (Predicate == 1) {
      return a < b;
    } else if constexpr (Predicate == 2) {
      return a == b;
    } else if constexpr (Predicate == 3) {
      return a <= b;
    } else if constexpr (Predicate == 4) {
      return a > b;
    } else if constexpr (Predicate == 5) {
      return (a < b) | (a > b);
    } else if constexpr (Predicate == 6) {
      return a >= b;
    } else {
      return (a == a) & (b == b);
    }
  }
};

// Halves are compared as floats, after the denormal mode that the host does not know for them.
template <size_t Predicate>
void CompareHalves(void* dst, const void* const* src, unsigned lanes) {
  alignas(32) float in[2][kRowLanes];
  bool flush = HostMode::Now().flush_inputs;
  ReadHalves(src[0], 0, flush, in[0], lanes);
  ReadHalves(src[1], 0, flush, in[1], lanes);
  auto* out = static_cast<uint32_t*>(dst);
  for (size_t i = 0; i < lanes; ++i) out[i] = FloatTest<Predicate>{}(in[0][i], in[1][i]) ? ~0u : 0u;
}

template <size_t Predicate>
struct IntTest {
  template <typename T>
  constexpr bool operator()(T a, T b) const {
    if constexpr (Predicate == 0) {
      return false;
    } else if constexpr (Predicate == 1) {
      return a < b;
    } else if constexpr (Predicate == 2) {
      return a == b;
    } else if constexpr (Predicate == 3) {
      return a <= b;
    } else if constexpr (Predicate == 4) {
      return a > b;
    } else if constexpr (Predicate == 5) {
      return a != b;
    } else if constexpr (Predicate == 6) {
      return a >= b;
    } else {
      return true;
    }
  }
};

// Bits of the class mask: signaling NaN, quiet NaN, -infinity, -normal, -denormal, -0, +0,
// +denormal, +normal, +infinity. Looks at the bits, whatever the denormal mode.
template <typename Bits, unsigned MantissaBits>
bool IsOfClass(Bits bits, uint32_t mask) {
  constexpr unsigned kSignBit = 8 * sizeof(Bits) - 1;
  constexpr Bits kMinNormal = static_cast<Bits>(Bits{1} << MantissaBits);
  constexpr Bits kInfinity = static_cast<Bits>((Bits{1} << kSignBit) - kMinNormal);
  Bits magnitude = static_cast<Bits>(bits & ~(Bits{1} << kSignBit));
  uint32_t negative = static_cast<uint32_t>(bits >> kSignBit);
  uint32_t quiet = static_cast<uint32_t>(bits >> (MantissaBits - 1)) & 1;
  // 0 infinity, 1 normal, 2 denormal, 3 zero
  uint32_t size = static_cast<uint32_t>(magnitude < kInfinity) +
                  static_cast<uint32_t>(magnitude < kMinNormal) +
                  static_cast<uint32_t>(magnitude == 0);
  uint32_t number = negative != 0 ? 2 + size : 9 - size;
  return (mask >> (magnitude > kInfinity ? quiet : number) & 1) != 0;
}

constexpr auto kClass16 = [](uint16_t a, uint32_t mask) {
  return IsOfClass<uint16_t, 10>(a, mask);
};
constexpr auto kClass32 = [](float a, uint32_t mask) {
  return IsOfClass<uint32_t, 23>(std::bit_cast<uint32_t>(a), mask);
};
constexpr auto kClass64 = [](double a, uint32_t mask) {
  return IsOfClass<uint64_t, 52>(std::bit_cast<uint64_t>(a), mask);
};

// ---- Rows ----

enum Form { kToMask, kToMaskAndExec, kToExec, kForms };
constexpr std::string_view kPrefixes[kForms] = {"v_cmp_", "v_cmpx_", "v_cmpx_"};
constexpr Exec kExecs[kForms] = {&ExecCompare, &ExecCompareBoth, &ExecCompareExec};
constexpr uint32_t kTargets[kForms] = {kAllTargets, kGfx9Targets, kRdnaTargets};

// The same for sources of up to 32 bits without modifiers, which is nearly all of them.
template <Form F>
const Op* ExecPlainCompare(Wave& wave, const Op* op) {
  constexpr unsigned kFirst = F == kToExec ? 0 : 1;
  RowBuffer buffers[2];
  RowBuffer result;
  const void* sources[2];
  for (unsigned i = 0; i < 2; ++i)
    sources[i] = PlainRow(wave, op->operand[kFirst + i], &buffers[i]);
  {
    FloatMode mode(wave, op->row->types[kFirst]);
    op->lanes(&result, sources, wave.lanes);
  }
  uint64_t mask = CollectMask(result.u32(), wave.lanes) & wave.exec();
  if constexpr (F != kToExec) WriteMask(wave, op->operand[0], mask);
  if constexpr (F != kToMask) wave.set_exec(mask);
  return op + 1;
}

template <Form F>
bool PrepareCompare(const AsmInstruction& instruction, const Architecture&, Op* op, std::string*) {
  bool is_wide = Is64(op->row->types[F == kToExec ? 0 : 1]);
  if (!is_wide && HasPlainSources(instruction)) op->exec = &ExecPlainCompare<F>;
  return true;
}

constexpr decltype(Row::prepare) kPrepares[kForms] = {
    &PrepareCompare<kToMask>, &PrepareCompare<kToMaskAndExec>, &PrepareCompare<kToExec>};

// `Test` returns bool.
template <auto Test, Ty A, Ty B>
constexpr Row CompareRow(std::string_view mnemonic, size_t form, uint32_t where = kAllTargets) {
  constexpr auto mask = [](typename Lane<A>::Value a, typename Lane<B>::Value b) -> uint32_t {
    return Test(a, b) ? ~0u : 0u;
  };
  Row row = {mnemonic, kExecs[form],           {Ty::kMask, A, B}, &Lanes2<mask, Ty::kB32, A, B>,
             0,        kTargets[form] & where, kPrepares[form]};
  if (form == kToExec) row.types = {A, B};
  return row;
}

// Storage for the mnemonics.
template <Form F, Ty T, size_t Predicate>
constexpr Name kFloatName = MakeName(kPrefixes[F], kFloatPredicates[Predicate], T);
template <Form F, Ty T, size_t Predicate>
constexpr Name kIntName = MakeName(kPrefixes[F], kIntPredicates[Predicate], T);

template <Ty T, size_t Predicate>
constexpr Row FloatRow(std::string_view mnemonic, size_t form) {
  Row row = CompareRow<FloatTest<Predicate>{}, T, T>(mnemonic, form);
  if constexpr (T == Ty::kF16) row.lanes = &CompareHalves<Predicate>;
  return row;
}

template <Ty T, size_t Predicate, size_t... F>
constexpr void AddFloat(Row*& out, std::index_sequence<F...>) {
  ((*out++ = FloatRow<T, Predicate>(kFloatName<static_cast<Form>(F), T, Predicate>.view(), F)),
   ...);
}

template <Ty T, size_t Predicate, size_t... F>
constexpr void AddInt(Row*& out, std::index_sequence<F...>) {
  // gfx10 has no constant comparisons of 16 bits.
  constexpr bool kGfx9Only = Is16(T) && (Predicate == 0 || Predicate == kAlwaysInt);
  ((*out++ =
        CompareRow<IntTest<Predicate>{}, T, T>(kIntName<static_cast<Form>(F), T, Predicate>.view(),
                                               F, kGfx9Only ? kGfx9Targets : kAllTargets)),
   ...);
}

template <Ty T, size_t... Predicate>
constexpr void AddFloats(Row*& out, std::index_sequence<Predicate...>) {
  (AddFloat<T, Predicate>(out, std::make_index_sequence<kForms>{}), ...);
}

template <Ty T, size_t... Predicate>
constexpr void AddInts(Row*& out, std::index_sequence<Predicate...>) {
  (AddInt<T, Predicate>(out, std::make_index_sequence<kForms>{}), ...);
}

template <auto Test, Ty T, Ty M = Ty::kB32>
constexpr void AddClass(Row*& out, std::string_view cmp, std::string_view cmpx,
                        uint32_t where = kAllTargets) {
  for (size_t form = 0; form < kForms; ++form)
    *out++ = CompareRow<Test, T, M>(form == kToMask ? cmp : cmpx, form, where);
}

constexpr size_t kRowCount =
    kForms * (3 * std::size(kFloatPredicates) + 6 * std::size(kIntPredicates) + 4);

constexpr std::array<Row, kRowCount> MakeRows() {
  std::array<Row, kRowCount> rows{};
  Row* out = rows.data();
  constexpr auto kFloats = std::make_index_sequence<std::size(kFloatPredicates)>{};
  constexpr auto kInts = std::make_index_sequence<std::size(kIntPredicates)>{};
  AddFloats<Ty::kF16>(out, kFloats);
  AddFloats<Ty::kF32>(out, kFloats);
  AddFloats<Ty::kF64>(out, kFloats);
  AddInts<Ty::kI16>(out, kInts);
  AddInts<Ty::kU16>(out, kInts);
  AddInts<Ty::kI32>(out, kInts);
  AddInts<Ty::kU32>(out, kInts);
  AddInts<Ty::kI64>(out, kInts);
  AddInts<Ty::kU64>(out, kInts);
  // The half is seen as bits: made a float, a signaling NaN would turn quiet.
  // Since gfx11 the class mask is half a register, too.
  constexpr uint32_t kSinceGfx11 = kGfx11Targets | kGfx12Targets;
  AddClass<kClass16, Ty::kB16>(out, "v_cmp_class_f16", "v_cmpx_class_f16", ~kSinceGfx11);
  AddClass<kClass16, Ty::kB16, Ty::kB16>(out, "v_cmp_class_f16", "v_cmpx_class_f16", kSinceGfx11);
  AddClass<kClass32, Ty::kF32>(out, "v_cmp_class_f32", "v_cmpx_class_f32");
  AddClass<kClass64, Ty::kF64>(out, "v_cmp_class_f64", "v_cmpx_class_f64");
  return rows;
}

constexpr std::array<Row, kRowCount> kRows = MakeRows();

}  // namespace

std::span<const Row> CompareRows() { return kRows; }

}  // namespace rochound::softgpu
