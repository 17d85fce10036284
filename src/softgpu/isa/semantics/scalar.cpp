// SPDX-License-Identifier: MIT
//
// SOP1, SOP2, SOPK, SOPC: scalar arithmetic, comparisons, exec mask handling, indirect jumps.
#include <bit>
#include <utility>

#include "softgpu/isa/code_cache.h"
#include "softgpu/isa/lane_types.h"
#include "softgpu/isa/semantics/bit_math.h"
#include "softgpu/isa/semantics/hardware_registers.h"
#include "softgpu/isa/semantics/register_index.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

// ---- Operands by type ----

template <Ty T>
using Value = typename Lane<T>::Value;

template <Ty T>
Value<T> Read(const Wave& wave, const Operand& operand) {
  if constexpr (Is64(T)) {
    return static_cast<Value<T>>(ReadScalar64(wave, operand));
  } else {
    return static_cast<Value<T>>(ReadScalar32(wave, operand));
  }
}

template <Ty T>
void Write(Wave& wave, const Operand& operand, Value<T> value) {
  if constexpr (Is64(T)) {
    WriteScalar64(wave, operand, static_cast<uint64_t>(value));
  } else {
    WriteScalar32(wave, operand, static_cast<uint32_t>(value));
  }
}

// ---- Executors ----
// The function sees the sources in the order of the text. SCC is untouched, or tells whether the
// result is not zero, or is the function's own affair (it gets a bool& after the sources).

enum class Scc { kKept, kNonZero, kOwn };

template <auto F, Scc S, Ty D, Ty... A>
const Op* ExecScalar(Wave& wave, const Op* op) {
  auto run = [&]<size_t... I>(std::index_sequence<I...>) {
    if constexpr (S == Scc::kOwn) {
      return F(Read<A>(wave, op->operand[I + 1])..., wave.scc);
    } else {
      return F(Read<A>(wave, op->operand[I + 1])...);
    }
  };
  auto result = static_cast<Value<D>>(run(std::make_index_sequence<sizeof...(A)>{}));
  if constexpr (S == Scc::kNonZero) wave.scc = result != 0;
  Write<D>(wave, op->operand[0], result);
  return op + 1;
}

template <auto F, Ty A, Ty B>
const Op* ExecScalarCompare(Wave& wave, const Op* op) {
  wave.scc = F(Read<A>(wave, op->operand[0]), Read<B>(wave, op->operand[1]));
  return op + 1;
}

// The destination is also the first source.
template <auto F, Ty D>
const Op* ExecUpdate(Wave& wave, const Op* op) {
  Write<D>(wave, op->operand[0],
           F(Read<D>(wave, op->operand[0]), ReadScalar32(wave, op->operand[1])));
  return op + 1;
}

template <Ty D>
const Op* ExecConditionalMove(Wave& wave, const Op* op) {
  if (wave.scc) Write<D>(wave, op->operand[0], Read<D>(wave, op->operand[1]));
  return op + 1;
}

// F(register, simm16, scc&) -> register.
template <auto F>
const Op* ExecConstant(Wave& wave, const Op* op) {
  int32_t value = static_cast<int32_t>(ReadScalar32(wave, op->operand[0]));
  value = F(value, static_cast<int16_t>(op->source->Simm16()), wave.scc);
  WriteScalar32(wave, op->operand[0], static_cast<uint32_t>(value));
  return op + 1;
}

template <auto F>
const Op* ExecConstantCompareSigned(Wave& wave, const Op* op) {
  wave.scc = F(static_cast<int32_t>(ReadScalar32(wave, op->operand[0])),
               int32_t{static_cast<int16_t>(op->source->Simm16())});
  return op + 1;
}

template <auto F>
const Op* ExecConstantCompareUnsigned(Wave& wave, const Op* op) {
  wave.scc = F(ReadScalar32(wave, op->operand[0]), uint32_t{op->source->Simm16()});
  return op + 1;
}

// exec = F(source, exec). The destination gets the old exec, or the new one.
enum class Saves { kOld, kNew };

template <auto F, Saves W, Ty T>
const Op* ExecExecMask(Wave& wave, const Op* op) {
  Value<T> old = Is64(T) ? static_cast<Value<T>>(wave.Pair(kExecLo)) : wave.sgpr[kExecLo];
  Value<T> now = static_cast<Value<T>>(F(Read<T>(wave, op->operand[1]), old));
  if constexpr (Is64(T)) {
    wave.SetPair(kExecLo, now);
  } else {
    wave.sgpr[kExecLo] = now;
  }
  Write<T>(wave, op->operand[0], W == Saves::kOld ? old : now);
  wave.scc = now != 0;
  return op + 1;
}

// ---- Registers picked by M0 ----
// s0 to s105 and VCC may be indexed. Beyond them reads take s0 and writes are dropped.

constexpr uint32_t kIndexableScalars = kVccLo + 2;

// Where the register of this number lives: on gfx9 s102 to s105 are FLAT_SCRATCH and XNACK_MASK.
uint32_t IndexedPlace(const Wave& wave, uint32_t index) {
  constexpr uint32_t kFirstNamed = 102;
  bool is_named = index >= kFirstNamed && index < kVccLo;
  if (is_named && (wave.architecture->bit & kGfx9Targets) != 0)
    return kFlatScratchLo + (index - kFirstNamed);
  return index;
}

template <Ty T>
Value<T> ReadIndexed(const Wave& wave, uint32_t index) {
  index = index > kIndexableScalars - (Is64(T) ? 2 : 1) ? 0 : IndexedPlace(wave, index);
  if constexpr (Is64(T)) {
    return wave.Pair(index);
  } else {
    return wave.sgpr[index];
  }
}

template <Ty T>
void WriteIndexed(Wave& wave, uint32_t index, Value<T> value) {
  if (index > kIndexableScalars - (Is64(T) ? 2 : 1)) return;
  index = IndexedPlace(wave, index);
  if constexpr (Is64(T)) {
    wave.SetPair(index, value);
  } else {
    wave.sgpr[index] = value;
  }
}

template <Ty T>
const Op* ExecMoveFromIndexed(Wave& wave, const Op* op) {
  Write<T>(wave, op->operand[0], ReadIndexed<T>(wave, op->operand[1].index + wave.sgpr[kM0]));
  return op + 1;
}

template <Ty T>
const Op* ExecMoveToIndexed(Wave& wave, const Op* op) {
  WriteIndexed<T>(wave, op->operand[0].index + wave.sgpr[kM0], Read<T>(wave, op->operand[1]));
  return op + 1;
}

const Op* ExecMoveBothIndexed(Wave& wave, const Op* op) {
  uint32_t m0 = wave.sgpr[kM0];
  uint32_t value = ReadIndexed<Ty::kB32>(wave, op->operand[1].index + (m0 & 0x3FF));
  WriteIndexed<Ty::kB32>(wave, op->operand[0].index + (m0 >> 16 & 0x3FF), value);
  return op + 1;
}

// Only a register can be indexed.
bool PrepareIndexed(const AsmInstruction& instruction, const Architecture&, Op* op,
                    std::string* why) {
  unsigned indexed = instruction.mnemonic.starts_with("s_movreld") ? 0 : 1;
  bool both = instruction.mnemonic.starts_with("s_movrelsd");
  for (unsigned i = both ? 0 : indexed; i <= indexed; ++i) {
    if (op->operand[i].kind != Operand::Kind::kScalar ||
        op->operand[i].index >= kIndexableScalars) {
      *why = "index from '" + instruction.operands[i].text + "'";
      return false;
    }
  }
  return true;
}

// ---- Jumps ----

const Op* ExecGetPc(Wave& wave, const Op* op) {
  WriteScalar64(wave, op->operand[0], op->next_address());
  return op + 1;
}

const Op* ExecSetPc(Wave& wave, const Op* op) {
  return JumpTo(wave, op, ReadScalar64(wave, op->operand[0]));
}

// The mode in which vector instructions are skipped can only be left here.
const Op* ExecSetSkip(Wave& wave, const Op* op) {
  uint32_t bit = ReadScalar32(wave, op->operand[1]) & 31;
  if (ReadScalar32(wave, op->operand[0]) >> bit & 1) {
    return wave.StopIllegal(
        op, "not implemented: skipping vector instructions by '" + op->source->text + "'");
  }
  return op + 1;
}

const Op* ExecSwapPc(Wave& wave, const Op* op) {
  uint64_t target = ReadScalar64(wave, op->operand[1]);
  WriteScalar64(wave, op->operand[0], op->next_address());
  return JumpTo(wave, op, target);
}

const Op* ExecCall(Wave& wave, const Op* op) {
  WriteScalar64(wave, op->operand[0], op->next_address());
  return TakeBranch(wave, op);
}

// The fork stack of gfx9: MODE[31:29] counts entries of four scalar registers each.
constexpr unsigned kForkShift = 29;

const Op* Fork(Wave& wave, const Op* op, uint64_t condition, uint64_t target) {
  uint64_t exec = wave.Pair(kExecLo);
  uint64_t pass = condition & exec;
  uint64_t fail = ~condition & exec;
  if (pass == exec) return JumpTo(wave, op, target);
  if (fail == exec) return op + 1;
  // The smaller part goes first, the other one waits on the stack.
  bool fail_first = std::popcount(fail) < std::popcount(pass);
  unsigned entry = wave.mode >> kForkShift;
  if (entry == 7) return wave.StopIllegal(op, "fork stack overflow");
  wave.SetPair(entry * 4, fail_first ? pass : fail);
  wave.SetPair(entry * 4 + 2, fail_first ? target : op->next_address());
  wave.mode += 1u << kForkShift;
  wave.SetPair(kExecLo, fail_first ? fail : pass);
  return fail_first ? op + 1 : JumpTo(wave, op, target);
}

const Op* ExecForkImmediate(Wave& wave, const Op* op) {
  return Fork(wave, op, ReadScalar64(wave, op->operand[0]), op->target_address);
}

const Op* ExecForkRegister(Wave& wave, const Op* op) {
  return Fork(wave, op, ReadScalar64(wave, op->operand[0]), ReadScalar64(wave, op->operand[1]));
}

const Op* ExecJoin(Wave& wave, const Op* op) {
  unsigned entry = wave.mode >> kForkShift;
  if (entry == ReadScalar32(wave, op->operand[0])) return op + 1;
  if (entry == 0) return wave.StopIllegal(op, "fork stack underflow");
  --entry;
  wave.mode -= 1u << kForkShift;
  uint64_t target = wave.Pair(entry * 4 + 2);
  wave.SetPair(kExecLo, wave.Pair(entry * 4));
  return JumpTo(wave, op, target);
}

// A wave64 loop body that is run once for each half of exec. The register keeps the other half.
const Op* ExecSubvectorBegin(Wave& wave, const Op* op) {
  uint32_t low = wave.sgpr[kExecLo];
  uint32_t high = wave.sgpr[kExecLo + 1];
  if (low == 0 && high == 0) return TakeBranch(wave, op);
  if (low == 0) {
    WriteScalar32(wave, op->operand[0], low);
  } else {
    WriteScalar32(wave, op->operand[0], high);
    wave.sgpr[kExecLo + 1] = 0;
  }
  return op + 1;
}

const Op* ExecSubvectorEnd(Wave& wave, const Op* op) {
  uint32_t kept = ReadScalar32(wave, op->operand[0]);
  if (wave.sgpr[kExecLo + 1] != 0) {
    wave.sgpr[kExecLo] = kept;
    return op + 1;
  }
  if (kept == 0) return op + 1;
  wave.sgpr[kExecLo + 1] = kept;
  WriteScalar32(wave, op->operand[0], wave.sgpr[kExecLo]);
  wave.sgpr[kExecLo] = 0;
  return TakeBranch(wave, op);
}

const Op* ExecNothing(Wave&, const Op* op) { return op + 1; }

// ---- Functions ----

template <typename T>
T WholeQuads(T x) {
  constexpr T kLowBits = static_cast<T>(0x1111111111111111);
  T any = (x | x >> 1 | x >> 2 | x >> 3) & kLowBits;
  return any * 15;
}

template <typename T>
T QuadMask(T x) {
  T result = 0;
  for (unsigned i = 0; i < sizeof(T) * 2; ++i)
    result |= static_cast<T>((x >> (4 * i) & 15) != 0) << i;
  return result;
}

uint64_t ReverseBits64(uint64_t x) {
  return uint64_t{ReverseBits(static_cast<uint32_t>(x))} << 32 |
         ReverseBits(static_cast<uint32_t>(x >> 32));
}

uint64_t ReplicateBits(uint32_t x) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= uint64_t{x >> i & 1} * 3 << (2 * i);
  return result;
}

template <typename T>
int32_t LowestBit(T x) {
  return x == 0 ? -1 : std::countr_zero(x);
}
template <typename T>
int32_t HighestBit(T x) {
  return x == 0 ? -1 : std::countl_zero(x);
}

// Offset in the low bits of `field`, width in bits 22:16. T is signed for a signed field.
template <typename T>
T ExtractField(T x, uint32_t field) {
  constexpr unsigned kBits = 8 * sizeof(T);
  unsigned offset = field & (kBits - 1);
  unsigned width = field >> 16 & 0x7F;
  if (width == 0) return 0;
  T shifted = static_cast<T>(x >> offset);
  if (width >= kBits) return shifted;
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(shifted) << (kBits - width)) >> (kBits - width);
}

template <typename T>
T FieldMask(uint32_t width, uint32_t offset) {
  constexpr uint32_t kMask = 8 * sizeof(T) - 1;
  return ((T{1} << (width & kMask)) - 1) << (offset & kMask);
}

uint32_t AddCarry(uint32_t a, uint32_t b, bool& scc) {
  uint64_t sum = uint64_t{a} + b + scc;
  scc = sum >> 32 != 0;
  return static_cast<uint32_t>(sum);
}

uint32_t SubtractBorrow(uint32_t a, uint32_t b, bool& scc) {
  uint64_t take = uint64_t{b} + scc;
  scc = take > a;
  return static_cast<uint32_t>(a - take);
}

template <unsigned Shift>
uint32_t ShiftAdd(uint32_t a, uint32_t b, bool& scc) {
  uint64_t sum = (uint64_t{a} << Shift) + b;
  scc = sum >> 32 != 0;
  return static_cast<uint32_t>(sum);
}

uint32_t Wrap(int64_t value) { return static_cast<uint32_t>(value); }

// ---- Row builders ----

template <auto F, Ty D, Ty... A>
constexpr Row Plain(std::string_view mnemonic) {
  return {mnemonic, &ExecScalar<F, Scc::kKept, D, A...>, {D, A...}};
}
template <auto F, Ty D, Ty... A>
constexpr Row PlainFor(uint32_t targets, std::string_view mnemonic) {
  return {mnemonic, &ExecScalar<F, Scc::kKept, D, A...>, {D, A...}, nullptr, 0, targets};
}
template <auto F, Ty D, Ty... A>
constexpr Row NonZero(std::string_view mnemonic) {
  return {mnemonic, &ExecScalar<F, Scc::kNonZero, D, A...>, {D, A...}};
}
template <auto F, Ty D, Ty... A>
constexpr Row Own(std::string_view mnemonic) {
  return {mnemonic, &ExecScalar<F, Scc::kOwn, D, A...>, {D, A...}};
}
template <auto F, Ty A, Ty B = A>
constexpr Row Compare(std::string_view mnemonic) {
  return {mnemonic, &ExecScalarCompare<F, A, B>, {A, B}};
}
template <auto F, Ty D>
constexpr Row Update(std::string_view mnemonic) {
  return {mnemonic, &ExecUpdate<F, D>, {D, Ty::kU32}};
}
template <auto F>
constexpr Row Constant(std::string_view mnemonic) {
  return {mnemonic, &ExecConstant<F>, {Ty::kI32, Ty::kImmediate}};
}
template <auto F>
constexpr Row ConstantSigned(std::string_view mnemonic) {
  return {mnemonic, &ExecConstantCompareSigned<F>, {Ty::kI32, Ty::kImmediate}};
}
template <auto F>
constexpr Row ConstantUnsigned(std::string_view mnemonic) {
  return {mnemonic, &ExecConstantCompareUnsigned<F>, {Ty::kU32, Ty::kImmediate}};
}
template <auto F, Saves W = Saves::kOld>
constexpr Row ExecMask64(std::string_view mnemonic) {
  return {mnemonic, &ExecExecMask<F, W, Ty::kB64>, {Ty::kB64, Ty::kB64}};
}
template <auto F, Saves W = Saves::kOld>
constexpr Row ExecMask32(std::string_view mnemonic) {
  return {mnemonic, &ExecExecMask<F, W, Ty::kB32>, {Ty::kB32, Ty::kB32}, nullptr, 0, kRdnaTargets};
}

constexpr auto kAnd = [](auto a, auto b) { return a & b; };
constexpr auto kOr = [](auto a, auto b) { return a | b; };
constexpr auto kXor = [](auto a, auto b) { return a ^ b; };
constexpr auto kAndN1 = [](auto a, auto b) { return ~a & b; };
constexpr auto kAndN2 = [](auto a, auto b) { return a & ~b; };
constexpr auto kOrN1 = [](auto a, auto b) { return ~a | b; };
constexpr auto kOrN2 = [](auto a, auto b) { return a | ~b; };
constexpr auto kNand = [](auto a, auto b) { return ~(a & b); };
constexpr auto kNor = [](auto a, auto b) { return ~(a | b); };
constexpr auto kXnor = [](auto a, auto b) { return ~(a ^ b); };
constexpr auto kEqual = [](auto a, auto b) { return a == b; };
constexpr auto kUnequal = [](auto a, auto b) { return a != b; };
constexpr auto kGreater = [](auto a, auto b) { return a > b; };
constexpr auto kGreaterEqual = [](auto a, auto b) { return a >= b; };
constexpr auto kLess = [](auto a, auto b) { return a < b; };
constexpr auto kLessEqual = [](auto a, auto b) { return a <= b; };
constexpr auto kMove = [](auto a) { return a; };
constexpr auto kNot = [](auto a) { return ~a; };
constexpr auto kMin = [](auto a, auto b, bool& scc) { return (scc = a < b) ? a : b; };
constexpr auto kMax = [](auto a, auto b, bool& scc) { return (scc = a >= b) ? a : b; };
constexpr auto kSelect = [](auto a, auto b, bool& scc) { return scc ? a : b; };
constexpr auto kShiftLeft = [](auto a, uint32_t n) { return a << (n & (8 * sizeof(a) - 1)); };
constexpr auto kShiftRight = [](auto a, uint32_t n) { return a >> (n & (8 * sizeof(a) - 1)); };
constexpr auto kBit = [](auto a, uint32_t n) { return a >> (n & (8 * sizeof(a) - 1)) & 1; };
constexpr auto kClearBit = [](auto d, uint32_t n) {
  return d & ~(decltype(d){1} << (n & (8 * sizeof(d) - 1)));
};
constexpr auto kSetBit = [](auto d, uint32_t n) {
  return d | decltype(d){1} << (n & (8 * sizeof(d) - 1));
};
constexpr auto kBitIsClear = [](auto a, uint32_t n) { return kBit(a, n) == 0; };
constexpr auto kBitIsSet = [](auto a, uint32_t n) { return kBit(a, n) != 0; };
constexpr auto kCountOnes = [](auto a) { return std::popcount(a); };
constexpr auto kCountZeros = [](auto a) { return std::popcount(static_cast<decltype(a)>(~a)); };

constexpr Row kRows[] = {
    // SOP1
    Plain<kMove, Ty::kB32, Ty::kB32>("s_mov_b32"),
    Plain<kMove, Ty::kB64, Ty::kB64>("s_mov_b64"),
    {"s_cmov_b32", &ExecConditionalMove<Ty::kB32>, {Ty::kB32, Ty::kB32}},
    {"s_cmov_b64", &ExecConditionalMove<Ty::kB64>, {Ty::kB64, Ty::kB64}},
    NonZero<kNot, Ty::kB32, Ty::kB32>("s_not_b32"),
    NonZero<kNot, Ty::kB64, Ty::kB64>("s_not_b64"),
    NonZero<WholeQuads<uint32_t>, Ty::kB32, Ty::kB32>("s_wqm_b32"),
    NonZero<WholeQuads<uint64_t>, Ty::kB64, Ty::kB64>("s_wqm_b64"),
    Plain<ReverseBits, Ty::kB32, Ty::kB32>("s_brev_b32"),
    Plain<ReverseBits64, Ty::kB64, Ty::kB64>("s_brev_b64"),
    NonZero<kCountZeros, Ty::kI32, Ty::kB32>("s_bcnt0_i32_b32"),
    NonZero<kCountZeros, Ty::kI32, Ty::kB64>("s_bcnt0_i32_b64"),
    NonZero<kCountOnes, Ty::kI32, Ty::kB32>("s_bcnt1_i32_b32"),
    NonZero<kCountOnes, Ty::kI32, Ty::kB64>("s_bcnt1_i32_b64"),
    Plain<[](auto a) { return LowestBit(static_cast<decltype(a)>(~a)); }, Ty::kI32, Ty::kB32>(
        "s_ff0_i32_b32"),
    Plain<[](auto a) { return LowestBit(static_cast<decltype(a)>(~a)); }, Ty::kI32, Ty::kB64>(
        "s_ff0_i32_b64"),
    Plain<LowestBit<uint32_t>, Ty::kI32, Ty::kB32>("s_ff1_i32_b32"),
    Plain<LowestBit<uint64_t>, Ty::kI32, Ty::kB64>("s_ff1_i32_b64"),
    Plain<HighestBit<uint32_t>, Ty::kI32, Ty::kB32>("s_flbit_i32_b32"),
    Plain<HighestBit<uint64_t>, Ty::kI32, Ty::kB64>("s_flbit_i32_b64"),
    Plain<[](int32_t a) { return HighestBit(static_cast<uint32_t>(a ^ (a >> 31))); }, Ty::kI32,
          Ty::kI32>("s_flbit_i32"),
    Plain<[](int64_t a) { return HighestBit(static_cast<uint64_t>(a ^ (a >> 63))); }, Ty::kI32,
          Ty::kI64>("s_flbit_i32_i64"),
    Plain<[](uint32_t a) { return (static_cast<int32_t>(a << 24) >> 24); }, Ty::kI32, Ty::kB32>(
        "s_sext_i32_i8"),
    Plain<[](uint32_t a) { return (static_cast<int32_t>(a << 16) >> 16); }, Ty::kI32, Ty::kB32>(
        "s_sext_i32_i16"),
    Update<kClearBit, Ty::kB32>("s_bitset0_b32"),
    Update<kClearBit, Ty::kB64>("s_bitset0_b64"),
    Update<kSetBit, Ty::kB32>("s_bitset1_b32"),
    Update<kSetBit, Ty::kB64>("s_bitset1_b64"),
    {"s_getpc_b64", &ExecGetPc, {Ty::kB64}},
    {"s_setpc_b64", &ExecSetPc, {Ty::kB64}, nullptr, kEndsBlock},
    {"s_swappc_b64", &ExecSwapPc, {Ty::kB64, Ty::kB64}, nullptr, kEndsBlock},
    {"s_rfe_b64", &ExecSetPc, {Ty::kB64}, nullptr, kEndsBlock},
    // The second operand restores what only a trap handler's wave has.
    {"s_rfe_restore_b64", &ExecSetPc, {Ty::kB64, Ty::kB32}, nullptr, kEndsBlock, kGfx9Targets},
    {"s_setvskip", &ExecSetSkip, {Ty::kB32, Ty::kB32}, nullptr, 0, kGfx9Targets},
    ExecMask64<kAnd>("s_and_saveexec_b64"),
    ExecMask64<kOr>("s_or_saveexec_b64"),
    ExecMask64<kXor>("s_xor_saveexec_b64"),
    ExecMask64<kAndN2>("s_andn2_saveexec_b64"),
    ExecMask64<kOrN2>("s_orn2_saveexec_b64"),
    ExecMask64<kNand>("s_nand_saveexec_b64"),
    ExecMask64<kNor>("s_nor_saveexec_b64"),
    ExecMask64<kXnor>("s_xnor_saveexec_b64"),
    ExecMask64<kAndN1>("s_andn1_saveexec_b64"),
    ExecMask64<kOrN1>("s_orn1_saveexec_b64"),
    ExecMask64<kAndN1, Saves::kNew>("s_andn1_wrexec_b64"),
    ExecMask64<kAndN2, Saves::kNew>("s_andn2_wrexec_b64"),
    ExecMask32<kAnd>("s_and_saveexec_b32"),
    ExecMask32<kOr>("s_or_saveexec_b32"),
    ExecMask32<kXor>("s_xor_saveexec_b32"),
    ExecMask32<kAndN2>("s_andn2_saveexec_b32"),
    ExecMask32<kOrN2>("s_orn2_saveexec_b32"),
    ExecMask32<kNand>("s_nand_saveexec_b32"),
    ExecMask32<kNor>("s_nor_saveexec_b32"),
    ExecMask32<kXnor>("s_xnor_saveexec_b32"),
    ExecMask32<kAndN1>("s_andn1_saveexec_b32"),
    ExecMask32<kOrN1>("s_orn1_saveexec_b32"),
    ExecMask32<kAndN1, Saves::kNew>("s_andn1_wrexec_b32"),
    ExecMask32<kAndN2, Saves::kNew>("s_andn2_wrexec_b32"),
    NonZero<QuadMask<uint32_t>, Ty::kB32, Ty::kB32>("s_quadmask_b32"),
    NonZero<QuadMask<uint64_t>, Ty::kB64, Ty::kB64>("s_quadmask_b64"),
    {"s_movrels_b32",
     &ExecMoveFromIndexed<Ty::kB32>,
     {Ty::kB32, Ty::kB32},
     nullptr,
     0,
     kAllTargets,
     &PrepareIndexed},
    {"s_movrels_b64",
     &ExecMoveFromIndexed<Ty::kB64>,
     {Ty::kB64, Ty::kB64},
     nullptr,
     0,
     kAllTargets,
     &PrepareIndexed},
    {"s_movreld_b32",
     &ExecMoveToIndexed<Ty::kB32>,
     {Ty::kB32, Ty::kB32},
     nullptr,
     0,
     kAllTargets,
     &PrepareIndexed},
    {"s_movreld_b64",
     &ExecMoveToIndexed<Ty::kB64>,
     {Ty::kB64, Ty::kB64},
     nullptr,
     0,
     kAllTargets,
     &PrepareIndexed},
    {"s_movrelsd_2_b32",
     &ExecMoveBothIndexed,
     {Ty::kB32, Ty::kB32},
     nullptr,
     0,
     kRdnaTargets,
     &PrepareIndexed},
    {"s_cbranch_join", &ExecJoin, {Ty::kB32}, nullptr, 0, kGfx9Targets},
    NonZero<[](int32_t a) { return Wrap(a < 0 ? -int64_t{a} : a); }, Ty::kI32, Ty::kI32>(
        "s_abs_i32"),
    Plain<ReplicateBits, Ty::kB64, Ty::kB32>("s_bitreplicate_b64_b32"),

    // VGPR index mode: SOPC, SOPP, SOP1
    {"s_set_gpr_idx_on", &ExecGprIndexOn, {Ty::kB32, Ty::kImmediate}, nullptr, 0, kGfx9Targets},
    {"s_set_gpr_idx_off", &ExecGprIndexOff, {}, nullptr, 0, kGfx9Targets},
    {"s_set_gpr_idx_mode", &ExecGprIndexMode, {Ty::kImmediate}, nullptr, 0, kGfx9Targets},
    {"s_set_gpr_idx_idx", &ExecGprIndexIdx, {Ty::kB32}, nullptr, 0, kGfx9Targets},

    // SOP2
    Own<[](uint32_t a, uint32_t b, bool& scc) { return AddCarry(a, b, scc = false); }, Ty::kU32,
        Ty::kU32, Ty::kU32>("s_add_u32"),
    Own<[](uint32_t a, uint32_t b, bool& scc) { return SubtractBorrow(a, b, scc = false); },
        Ty::kU32, Ty::kU32, Ty::kU32>("s_sub_u32"),
    Own<AddCarry, Ty::kU32, Ty::kU32, Ty::kU32>("s_addc_u32"),
    Own<SubtractBorrow, Ty::kU32, Ty::kU32, Ty::kU32>("s_subb_u32"),
    Own<[](int32_t a, int32_t b, bool& scc) {
      int32_t sum;
      scc = __builtin_add_overflow(a, b, &sum);
      return sum;
    },
        Ty::kI32, Ty::kI32, Ty::kI32>("s_add_i32"),
    Own<[](int32_t a, int32_t b, bool& scc) {
      int32_t difference;
      scc = __builtin_sub_overflow(a, b, &difference);
      return difference;
    },
        Ty::kI32, Ty::kI32, Ty::kI32>("s_sub_i32"),
    Own<kMin, Ty::kI32, Ty::kI32, Ty::kI32>("s_min_i32"),
    Own<kMin, Ty::kU32, Ty::kU32, Ty::kU32>("s_min_u32"),
    Own<kMax, Ty::kI32, Ty::kI32, Ty::kI32>("s_max_i32"),
    Own<kMax, Ty::kU32, Ty::kU32, Ty::kU32>("s_max_u32"),
    Own<kSelect, Ty::kB32, Ty::kB32, Ty::kB32>("s_cselect_b32"),
    Own<kSelect, Ty::kB64, Ty::kB64, Ty::kB64>("s_cselect_b64"),
    NonZero<kAnd, Ty::kB32, Ty::kB32, Ty::kB32>("s_and_b32"),
    NonZero<kAnd, Ty::kB64, Ty::kB64, Ty::kB64>("s_and_b64"),
    NonZero<kOr, Ty::kB32, Ty::kB32, Ty::kB32>("s_or_b32"),
    NonZero<kOr, Ty::kB64, Ty::kB64, Ty::kB64>("s_or_b64"),
    NonZero<kXor, Ty::kB32, Ty::kB32, Ty::kB32>("s_xor_b32"),
    NonZero<kXor, Ty::kB64, Ty::kB64, Ty::kB64>("s_xor_b64"),
    NonZero<kAndN2, Ty::kB32, Ty::kB32, Ty::kB32>("s_andn2_b32"),
    NonZero<kAndN2, Ty::kB64, Ty::kB64, Ty::kB64>("s_andn2_b64"),
    NonZero<kOrN2, Ty::kB32, Ty::kB32, Ty::kB32>("s_orn2_b32"),
    NonZero<kOrN2, Ty::kB64, Ty::kB64, Ty::kB64>("s_orn2_b64"),
    NonZero<kNand, Ty::kB32, Ty::kB32, Ty::kB32>("s_nand_b32"),
    NonZero<kNand, Ty::kB64, Ty::kB64, Ty::kB64>("s_nand_b64"),
    NonZero<kNor, Ty::kB32, Ty::kB32, Ty::kB32>("s_nor_b32"),
    NonZero<kNor, Ty::kB64, Ty::kB64, Ty::kB64>("s_nor_b64"),
    NonZero<kXnor, Ty::kB32, Ty::kB32, Ty::kB32>("s_xnor_b32"),
    NonZero<kXnor, Ty::kB64, Ty::kB64, Ty::kB64>("s_xnor_b64"),
    NonZero<kShiftLeft, Ty::kB32, Ty::kB32, Ty::kU32>("s_lshl_b32"),
    NonZero<kShiftLeft, Ty::kB64, Ty::kB64, Ty::kU32>("s_lshl_b64"),
    NonZero<kShiftRight, Ty::kB32, Ty::kB32, Ty::kU32>("s_lshr_b32"),
    NonZero<kShiftRight, Ty::kB64, Ty::kB64, Ty::kU32>("s_lshr_b64"),
    NonZero<kShiftRight, Ty::kI32, Ty::kI32, Ty::kU32>("s_ashr_i32"),
    NonZero<kShiftRight, Ty::kI64, Ty::kI64, Ty::kU32>("s_ashr_i64"),
    Plain<FieldMask<uint32_t>, Ty::kB32, Ty::kU32, Ty::kU32>("s_bfm_b32"),
    Plain<FieldMask<uint64_t>, Ty::kB64, Ty::kU32, Ty::kU32>("s_bfm_b64"),
    NonZero<ExtractField<uint32_t>, Ty::kU32, Ty::kU32, Ty::kU32>("s_bfe_u32"),
    NonZero<ExtractField<int32_t>, Ty::kI32, Ty::kI32, Ty::kU32>("s_bfe_i32"),
    NonZero<ExtractField<uint64_t>, Ty::kU64, Ty::kU64, Ty::kU32>("s_bfe_u64"),
    NonZero<ExtractField<int64_t>, Ty::kI64, Ty::kI64, Ty::kU32>("s_bfe_i64"),
    Plain<[](uint32_t a, uint32_t b) { return a * b; }, Ty::kU32, Ty::kU32, Ty::kU32>("s_mul_i32"),
    Plain<[](uint32_t a, uint32_t b) { return (uint64_t{a} * b >> 32); }, Ty::kU32, Ty::kU32,
          Ty::kU32>("s_mul_hi_u32"),
    Plain<[](int32_t a, int32_t b) { return (int64_t{a} * b >> 32); }, Ty::kI32, Ty::kI32,
          Ty::kI32>("s_mul_hi_i32"),
    NonZero<[](uint32_t a, uint32_t b) {
      uint32_t difference = a - b;
      return static_cast<int32_t>(difference) < 0 ? 0 - difference : difference;
    },
            Ty::kU32, Ty::kU32, Ty::kU32>("s_absdiff_i32"),
    Own<ShiftAdd<1>, Ty::kU32, Ty::kU32, Ty::kU32>("s_lshl1_add_u32"),
    Own<ShiftAdd<2>, Ty::kU32, Ty::kU32, Ty::kU32>("s_lshl2_add_u32"),
    Own<ShiftAdd<3>, Ty::kU32, Ty::kU32, Ty::kU32>("s_lshl3_add_u32"),
    Own<ShiftAdd<4>, Ty::kU32, Ty::kU32, Ty::kU32>("s_lshl4_add_u32"),
    Plain<[](uint32_t a, uint32_t b) { return (a & 0xFFFF) | b << 16; }, Ty::kB32, Ty::kB32,
          Ty::kB32>("s_pack_ll_b32_b16"),
    Plain<[](uint32_t a, uint32_t b) { return (a & 0xFFFF) | (b & 0xFFFF0000); }, Ty::kB32,
          Ty::kB32, Ty::kB32>("s_pack_lh_b32_b16"),
    Plain<[](uint32_t a, uint32_t b) { return (a >> 16) | (b & 0xFFFF0000); }, Ty::kB32, Ty::kB32,
          Ty::kB32>("s_pack_hh_b32_b16"),
    PlainFor<[](uint32_t a, uint32_t b) { return (a >> 16) | b << 16; }, Ty::kB32, Ty::kB32,
             Ty::kB32>(kGfx11Targets | kGfx12Targets, "s_pack_hl_b32_b16"),
    PlainFor<[](uint64_t a, uint64_t b) { return a + b; }, Ty::kU64, Ty::kU64, Ty::kU64>(
        kGfx12Targets, "s_add_nc_u64"),
    PlainFor<[](uint64_t a, uint64_t b) { return a - b; }, Ty::kU64, Ty::kU64, Ty::kU64>(
        kGfx12Targets, "s_sub_nc_u64"),
    PlainFor<[](uint64_t a, uint64_t b) { return a * b; }, Ty::kU64, Ty::kU64, Ty::kU64>(
        kGfx12Targets, "s_mul_u64"),
    {"s_cbranch_g_fork", &ExecForkRegister, {Ty::kB64, Ty::kB64}, nullptr, 0, kGfx9Targets},

    // SOPC
    Compare<kEqual, Ty::kI32>("s_cmp_eq_i32"),
    Compare<kUnequal, Ty::kI32>("s_cmp_lg_i32"),
    Compare<kGreater, Ty::kI32>("s_cmp_gt_i32"),
    Compare<kGreaterEqual, Ty::kI32>("s_cmp_ge_i32"),
    Compare<kLess, Ty::kI32>("s_cmp_lt_i32"),
    Compare<kLessEqual, Ty::kI32>("s_cmp_le_i32"),
    Compare<kEqual, Ty::kU32>("s_cmp_eq_u32"),
    Compare<kUnequal, Ty::kU32>("s_cmp_lg_u32"),
    Compare<kGreater, Ty::kU32>("s_cmp_gt_u32"),
    Compare<kGreaterEqual, Ty::kU32>("s_cmp_ge_u32"),
    Compare<kLess, Ty::kU32>("s_cmp_lt_u32"),
    Compare<kLessEqual, Ty::kU32>("s_cmp_le_u32"),
    Compare<kBitIsClear, Ty::kB32, Ty::kU32>("s_bitcmp0_b32"),
    Compare<kBitIsSet, Ty::kB32, Ty::kU32>("s_bitcmp1_b32"),
    Compare<kBitIsClear, Ty::kB64, Ty::kU32>("s_bitcmp0_b64"),
    Compare<kBitIsSet, Ty::kB64, Ty::kU32>("s_bitcmp1_b64"),
    Compare<kEqual, Ty::kU64>("s_cmp_eq_u64"),
    Compare<kUnequal, Ty::kU64>("s_cmp_lg_u64"),

    // SOPK
    Constant<[](int32_t, int16_t k, bool&) { return int32_t{k}; }>("s_movk_i32"),
    Constant<[](int32_t d, int16_t k, bool& scc) { return scc ? k : d; }>("s_cmovk_i32"),
    Constant<[](int32_t d, int16_t k, bool& scc) {
      scc = __builtin_add_overflow(d, int32_t{k}, &d);
      return d;
    }>("s_addk_i32"),
    Constant<[](int32_t d, int16_t k, bool&) {
      return static_cast<int32_t>(Wrap(int64_t{d} * k));
    }>("s_mulk_i32"),
    ConstantSigned<kEqual>("s_cmpk_eq_i32"),
    ConstantSigned<kUnequal>("s_cmpk_lg_i32"),
    ConstantSigned<kGreater>("s_cmpk_gt_i32"),
    ConstantSigned<kGreaterEqual>("s_cmpk_ge_i32"),
    ConstantSigned<kLess>("s_cmpk_lt_i32"),
    ConstantSigned<kLessEqual>("s_cmpk_le_i32"),
    ConstantUnsigned<kEqual>("s_cmpk_eq_u32"),
    ConstantUnsigned<kUnequal>("s_cmpk_lg_u32"),
    ConstantUnsigned<kGreater>("s_cmpk_gt_u32"),
    ConstantUnsigned<kGreaterEqual>("s_cmpk_ge_u32"),
    ConstantUnsigned<kLess>("s_cmpk_lt_u32"),
    ConstantUnsigned<kLessEqual>("s_cmpk_le_u32"),
    {"s_call_b64", &ExecCall, {Ty::kB64, Ty::kImmediate}, nullptr, kBranches | kEndsBlock},
    {"s_cbranch_i_fork",
     &ExecForkImmediate,
     {Ty::kB64, Ty::kImmediate},
     nullptr,
     kBranches,
     kGfx9Targets},
    {"s_subvector_loop_begin",
     &ExecSubvectorBegin,
     {Ty::kB32, Ty::kImmediate},
     nullptr,
     kBranches,
     kRdnaTargets},
    {"s_subvector_loop_end",
     &ExecSubvectorEnd,
     {Ty::kB32, Ty::kImmediate},
     nullptr,
     kBranches,
     kRdnaTargets},
    {"s_version", &ExecNothing, {}, nullptr, kNoEffect, kRdnaTargets},
    {"s_getreg_b32",
     &ExecGetRegister,
     {Ty::kB32, Ty::kImmediate},
     nullptr,
     0,
     kAllTargets,
     &PrepareGetRegister},
    {"s_setreg_b32",
     &ExecSetRegister,
     {Ty::kImmediate, Ty::kB32},
     nullptr,
     0,
     kAllTargets,
     &PrepareSetRegister},
    {"s_setreg_imm32_b32",
     &ExecSetRegisterImmediate,
     {Ty::kImmediate, Ty::kImmediate},
     nullptr,
     0,
     kAllTargets,
     &PrepareSetRegister},
};

}  // namespace

std::span<const Row> ScalarRows() { return kRows; }

}  // namespace rochound::softgpu
