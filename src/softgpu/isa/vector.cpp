// SPDX-License-Identifier: MIT
#include "softgpu/isa/vector.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rochound::softgpu {
namespace {

// All ones in the lanes whose bit is set in the low eight bits.
__m256i ExpandEight(uint64_t bits) {
  const __m256i select = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  __m256i all = _mm256_set1_epi32(static_cast<int>(bits & 0xFF));
  return _mm256_cmpeq_epi32(_mm256_and_si256(all, select), select);
}

// The lane that lane `lane` reads under a DPP control, or -1 if there is none.
int DppSource(unsigned control, int lane, int lanes) {
  int row = lane & ~15;
  int in_row = lane & 15;
  if (control < 0x100) return (lane & ~3) + static_cast<int>((control >> (2 * (lane & 3))) & 3);
  int n = static_cast<int>(control & 15);
  auto within_row = [row](int i) { return i >= 0 && i < 16 ? row + i : -1; };
  auto within_wave = [lanes](int i) { return i >= 0 && i < lanes ? i : -1; };
  switch (control & 0x1F0) {
    case 0x100:
      return within_row(in_row + n);  // row_shl
    case 0x110:
      return within_row(in_row - n);  // row_shr
    case 0x120:
      return row + ((in_row - n) & 15);  // row_ror
    case 0x130:
      switch (n) {
        case 0x0:
          return within_wave(lane + 1);  // wave_shl
        case 0x4:
          return (lane + 1) % lanes;  // wave_rol
        case 0x8:
          return within_wave(lane - 1);  // wave_shr
        case 0xC:
          return (lane + lanes - 1) % lanes;  // wave_ror
        default:
          return -1;
      }
    case 0x140:
      switch (n) {
        case 0:
          return row + 15 - in_row;  // row_mirror
        case 1:
          return (lane & ~7) + 7 - (lane & 7);  // row_half_mirror
        case 2:
          return row >= 16 ? row - 1 : -1;  // row_bcast:15
        case 3:
          return lane >= 32 ? 31 : -1;  // row_bcast:31
        default:
          return -1;
      }
    case 0x150:
      return row + n;  // row_share, row_newbcast
    case 0x160:
      return row + (in_row ^ n);  // row_xmask
    default:
      return -1;
  }
}

// dst[i] = source[the lane i reads]. Lanes that DPP disables leave *lanes.
template <typename T>
void ApplyDpp(const Wave& wave, const Modifiers& m, const T* source, T* dst, uint64_t* lanes) {
  uint64_t exec = wave.exec();
  uint64_t enabled = 0;
  std::array<T, kRowLanes> result{};
  for (int i = 0; i < wave.lanes; ++i) {
    int from = m.is_dpp8 ? (i & ~7) + m.dpp8_lane[i & 7] : DppSource(m.dpp_ctrl, i, wave.lanes);
    bool valid = from >= 0 && (m.fetch_inactive || (exec >> from & 1));
    if (valid) result[i] = source[from];
    bool in_masks = m.is_dpp8 || ((m.row_mask >> (i / 16) & 1) && (m.bank_mask >> (i / 4 % 4) & 1));
    // An invalid source reads as zero with bound_ctrl (and always in DPP8), else the lane is off.
    if (in_masks && (valid || m.bound_ctrl || m.is_dpp8)) enabled |= uint64_t{1} << i;
  }
  std::copy_n(result.data(), wave.lanes, dst);
  *lanes &= enabled;
}

uint32_t SelectSdwa(uint32_t value, SdwaSelect select, bool sign_extend) {
  switch (select) {
    case SdwaSelect::kDword:
      return value;
    case SdwaSelect::kWord0:
    case SdwaSelect::kWord1: {
      uint32_t half = select == SdwaSelect::kWord1 ? value >> 16 : value & 0xFFFF;
      return sign_extend ? static_cast<uint32_t>(static_cast<int16_t>(half)) : half;
    }
    default: {
      uint32_t byte = value >> (8 * static_cast<unsigned>(select)) & 0xFF;
      return sign_extend ? static_cast<uint32_t>(static_cast<int8_t>(byte)) : byte;
    }
  }
}

uint32_t MergeSdwa(uint32_t old, uint32_t value, SdwaSelect select, SdwaUnused unused) {
  if (select == SdwaSelect::kDword) return value;
  bool word = select == SdwaSelect::kWord0 || select == SdwaSelect::kWord1;
  unsigned shift =
      word ? (select == SdwaSelect::kWord1 ? 16 : 0) : 8 * static_cast<unsigned>(select);
  uint32_t field = word ? 0xFFFF : 0xFF;
  uint32_t placed = (value & field) << shift;
  if (unused == SdwaUnused::kPreserve) return (old & ~(field << shift)) | placed;
  if (unused == SdwaUnused::kPad) return placed;
  uint32_t sign = (value >> (word ? 15 : 7)) & 1;
  // Bits above the field repeat its sign; bits below are zero.
  return placed | (sign && shift + (word ? 16 : 8) < 32 ? ~0u << (shift + (word ? 16 : 8)) : 0);
}

uint64_t SignBits(Ty type) {
  switch (type) {
    case Ty::kF64:
      return uint64_t{1} << 63;
    case Ty::kF16:
    case Ty::kBF16:
    case Ty::kB16:
    case Ty::kU16:
    case Ty::kI16:
      return 0x8000;
    default:
      return 0x80000000;
  }
}

template <typename T>
void ApplySign(T* row, unsigned lanes, T sign, bool absolute, bool negate) {
  for (unsigned i = 0; i < lanes; ++i) {
    T value = row[i];
    if (absolute) value &= static_cast<T>(~sign);
    if (negate) value ^= sign;
    row[i] = value;
  }
}

// op_sel, op_sel_hi, neg_lo, neg_hi of packed math, on pairs of 16-bit or 32-bit elements.
template <typename Pair, typename Element>
void ApplyPacked(const Modifiers& m, unsigned number, bool is_float, const Pair* source, Pair* dst,
                 unsigned lanes) {
  constexpr unsigned kBits = 8 * sizeof(Element);
  unsigned op_sel_hi = m.has_op_sel_hi ? m.op_sel_hi : 7;
  unsigned low_from = (m.op_sel >> number & 1) ? kBits : 0;
  unsigned high_from = (op_sel_hi >> number & 1) ? kBits : 0;
  Element sign = static_cast<Element>(Element{1} << (kBits - 1));
  Element low_flip = is_float && (m.neg_lo >> number & 1) ? sign : 0;
  Element high_flip = is_float && (m.neg_hi >> number & 1) ? sign : 0;
  for (unsigned i = 0; i < lanes; ++i) {
    Element low = static_cast<Element>(source[i] >> low_from) ^ low_flip;
    Element high = static_cast<Element>(source[i] >> high_from) ^ high_flip;
    dst[i] = static_cast<Pair>(low) | static_cast<Pair>(high) << kBits;
  }
}

bool PackedIsIdentity(const Modifiers& m, unsigned number) {
  unsigned op_sel_hi = m.has_op_sel_hi ? m.op_sel_hi : 7;
  return !(m.op_sel >> number & 1) && (op_sel_hi >> number & 1) && !(m.neg_lo >> number & 1) &&
         !(m.neg_hi >> number & 1);
}

const uint64_t* Fetch64(Wave& wave, const Operand& operand, RowBuffer* buffer) {
  if (operand.kind == Operand::Kind::kConstant) return static_cast<const uint64_t*>(operand.row);
  uint64_t* out = buffer->u64();
  if (operand.kind == Operand::Kind::kVector) {
    const uint32_t* low = wave.Row(operand.index);
    const uint32_t* high = wave.Row(operand.index + 1);
#pragma GCC ivdep
    for (unsigned i = 0; i < wave.lanes; ++i) out[i] = low[i] | uint64_t{high[i]} << 32;
  } else {
    std::fill_n(out, wave.lanes, ReadScalar64(wave, operand));
  }
  return out;
}

const uint32_t* Fetch32(Wave& wave, const Operand& operand, uint32_t* buffer) {
  if (operand.kind == Operand::Kind::kVector) return wave.Row(operand.index);
  if (operand.kind == Operand::Kind::kConstant) return static_cast<const uint32_t*>(operand.row);
  std::fill_n(buffer, wave.lanes, ReadScalar32(wave, operand));
  return buffer;
}

float ApplyOmod(float value, unsigned omod) {
  return omod == 1 ? value * 2.0f : omod == 2 ? value * 4.0f : omod == 3 ? value * 0.5f : value;
}
double ApplyOmod(double value, unsigned omod) {
  return omod == 1 ? value * 2.0 : omod == 2 ? value * 4.0 : omod == 3 ? value * 0.5 : value;
}

// Clamps to [0, 1]; NaN becomes 0 when DX10_CLAMP (mode bit 8) is set, and where there is no such
// bit.
template <typename T>
T ClampFloat(T value, bool dx10_clamp) {
  if (value != value) return dx10_clamp ? T{0} : value;
  return value <= T{0} ? T{0} : value >= T{1} ? T{1} : value;
}

// The smallest normal number of a type, as its lanes are computed.
template <Ty T>
constexpr auto SmallestNormal() {
  if constexpr (T == Ty::kF64)
    return 0x1p-1022;
  else
    return T == Ty::kF16 ? 0x1p-14f : 0x1p-126f;
}

template <Ty T>
void OmodAndClamp(typename Lane<T>::Storage* row, const Modifiers& m, unsigned omod,
                  bool dx10_clamp, unsigned lanes) {
  for (unsigned i = 0; i < lanes; ++i) {
    auto value = Lane<T>::Get(row[i]);
    if (omod != 0) {
      value = ApplyOmod(value, omod);
      if (std::abs(value) < SmallestNormal<T>()) value = std::copysign(decltype(value){0}, value);
    }
    if (m.clamp) value = ClampFloat(value, dx10_clamp);
    row[i] = Lane<T>::Put(value);
  }
}

void ClampPacked(uint64_t* row64, uint32_t* row32, Ty type, bool dx10_clamp, unsigned lanes) {
  for (unsigned i = 0; i < lanes; ++i) {
    if (type == Ty::kV2F16) {
      uint32_t low = FloatToHalf(ClampFloat(HalfToFloat(row32[i]), dx10_clamp));
      uint32_t high = FloatToHalf(ClampFloat(HalfToFloat(row32[i] >> 16), dx10_clamp));
      row32[i] = low | high << 16;
    } else {
      float low = ClampFloat(std::bit_cast<float>(static_cast<uint32_t>(row64[i])), dx10_clamp);
      float high =
          ClampFloat(std::bit_cast<float>(static_cast<uint32_t>(row64[i] >> 32)), dx10_clamp);
      row64[i] = std::bit_cast<uint32_t>(low) | uint64_t{std::bit_cast<uint32_t>(high)} << 32;
    }
  }
}

// The integer forms of clamp saturate inside the instruction's own lane function.
void PostProcess(Wave& wave, const Op* op, Ty type, RowBuffer* result) {
  const Modifiers& m = op->modifiers();
  if (!m.clamp && m.omod == 0) return;
  bool has_bits = wave.architecture->mode_has_clamp_and_ieee;
  bool dx10_clamp = !has_bits || (wave.mode >> 8 & 1);
  bool ieee = has_bits && (wave.mode >> 9 & 1);
  // The output modifier is ignored in IEEE mode and where output denormals are kept.
  bool keeps_denormals = wave.mode >> (type == Ty::kF32 ? 5 : 7) & 1;
  unsigned omod = ieee || keeps_denormals ? 0u : m.omod;
  switch (type) {
    case Ty::kF32:
      return OmodAndClamp<Ty::kF32>(result->u32(), m, omod, dx10_clamp, wave.lanes);
    case Ty::kF64:
      return OmodAndClamp<Ty::kF64>(result->u64(), m, omod, dx10_clamp, wave.lanes);
    case Ty::kF16:
      return OmodAndClamp<Ty::kF16>(result->u32(), m, omod, dx10_clamp, wave.lanes);
    case Ty::kV2F16:
    case Ty::kV2F32:
      return ClampPacked(result->u64(), result->u32(), type, dx10_clamp, wave.lanes);
    default:
      return;
  }
}

// Runs the lane loop over fetched sources; false if no lane is left.
bool RunLanes(Wave& wave, const Op* op, unsigned first_source, RowBuffer* result, uint64_t* lanes) {
  RowBuffer buffers[4];
  const void* sources[4] = {};
  unsigned count = 0;
  for (unsigned i = first_source; i < kMaxOperands && op->row->types[i] != Ty::kNone; ++i, ++count)
    sources[count] = FetchSource(wave, op, i, count, op->row->types[i], &buffers[count], lanes);
  if (op->row->flags & kAccumulates) {
    uint64_t ignored = ~uint64_t{0};
    sources[count] =
        FetchSource(wave, op, 0, kMaxOperands, op->row->types[0], &buffers[count], &ignored);
  }
  FloatMode mode(wave, op->row->types[0] == Ty::kMask ? op->row->types[1] : op->row->types[0]);
  op->lanes(result, sources, wave.lanes);
  return *lanes != 0;
}

// What plain ops share: the lane loop over 32-bit rows, for the lanes that are on.
inline const Op* RunPlain(Wave& wave, const Op* op, uint32_t* dst, const void* const* sources) {
  uint64_t exec = wave.exec();
  if (exec == wave.full_exec) [[likely]] {
    op->lanes(dst, sources, wave.lanes);
  } else if (exec != 0) {
    RowBuffer result;
    op->lanes(&result, sources, wave.lanes);
    Blend(dst, result.u32(), exec, wave.lanes);
  }
  return op + 1;
}

}  // namespace

void FloatMode::Set(uint32_t mode, Ty type) {
  bool wide = Is64(type) || Is16(type) || type == Ty::kV2F16;
  if (type == Ty::kV2F32) wide = false;
  // Hardware: 0 nearest, 1 up, 2 down, 3 zero. MXCSR: 0 nearest, 1 down, 2 up, 3 zero.
  static constexpr uint32_t kRounding[] = {0u << 13, 2u << 13, 1u << 13, 3u << 13};
  uint32_t round = mode >> (wide ? 2 : 0) & 3;
  uint32_t denormals = mode >> (wide ? 6 : 4) & 3;
  saved_ = _mm_getcsr();
  uint32_t control = (saved_ & ~0xE040u) | kRounding[round];
  if (!(denormals & 1)) control |= 0x0040;  // denormal inputs are zero
  if (!(denormals & 2)) control |= 0x8000;  // denormal results are zero
  _mm_setcsr(control);
  changed_ = true;
}

void FloatMode::Restore() { _mm_setcsr(saved_); }

void ExpandMask(uint64_t mask, uint32_t* row, unsigned lanes) {
  for (unsigned i = 0; i < lanes; i += 8)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + i), ExpandEight(mask >> i));
}

uint64_t CollectMask(const uint32_t* row, unsigned lanes) {
  uint64_t mask = 0;
  for (unsigned i = 0; i < lanes; i += 8) {
    __m256 eight = _mm256_loadu_ps(reinterpret_cast<const float*>(row + i));
    mask |= uint64_t{static_cast<uint32_t>(_mm256_movemask_ps(eight))} << i;
  }
  return mask;
}

void Blend(uint32_t* dst, const uint32_t* source, uint64_t lanes, unsigned count) {
  for (unsigned i = 0; i < count; i += 8) {
    auto* to = reinterpret_cast<__m256i*>(dst + i);
    __m256i from = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + i));
    __m256i kept = _mm256_loadu_si256(to);
    _mm256_storeu_si256(to, _mm256_blendv_epi8(kept, from, ExpandEight(lanes >> i)));
  }
}

const void* FetchSource(Wave& wave, const Op* op, unsigned index, unsigned number, Ty type,
                        RowBuffer* buffer, uint64_t* lanes) {
  const Operand& operand = op->operand[index];
  const Modifiers& m = op->modifiers();
  bool is_constant = operand.kind == Operand::Kind::kConstant;
  bool has_sign_change = !is_constant && !IsPacked(type) && (operand.absolute || operand.negate);
  bool has_dpp = number == 0 && (m.is_dpp || m.is_dpp8);
  if (Is64(type)) {
    const uint64_t* source = Fetch64(wave, operand, buffer);
    uint64_t* out = buffer->u64();
    if (has_dpp) {
      ApplyDpp(wave, m, source, out, lanes);
      source = out;
    }
    if (IsPacked(type) && number < kMaxOperands && !PackedIsIdentity(m, number)) {
      ApplyPacked<uint64_t, uint32_t>(m, number, IsFloat(type), source, out, wave.lanes);
      source = out;
    }
    if (has_sign_change) {
      if (source != out) std::copy_n(source, wave.lanes, out);
      ApplySign<uint64_t>(out, wave.lanes, SignBits(type), operand.absolute, operand.negate);
      source = out;
    }
    return source;
  }
  // The destination as a source (fmac) is read where it will be written.
  const unsigned selector = number < 3 ? number : 3;
  uint32_t* out = buffer->u32();
  const uint32_t* source = Fetch32(wave, operand, out);
  if (has_dpp) {
    ApplyDpp(wave, m, source, out, lanes);
    source = out;
  }
  if (m.is_sdwa && number < 2 && (m.src_sel[number] != SdwaSelect::kDword || operand.sign_extend)) {
    for (unsigned i = 0; i < wave.lanes; ++i)
      out[i] = SelectSdwa(source[i], m.src_sel[number], operand.sign_extend);
    source = out;
  } else if (Is16(type) && (m.op_sel >> selector & 1) && !is_constant) {
    for (unsigned i = 0; i < wave.lanes; ++i) out[i] = source[i] >> 16;
    source = out;
  } else if (IsPacked(type) && number < kMaxOperands && !PackedIsIdentity(m, number)) {
    ApplyPacked<uint32_t, uint16_t>(m, number, IsFloat(type), source, out, wave.lanes);
    source = out;
  }
  if (has_sign_change) {
    if (source != out) std::copy_n(source, wave.lanes, out);
    ApplySign<uint32_t>(out, wave.lanes, static_cast<uint32_t>(SignBits(type)), operand.absolute,
                        operand.negate);
    source = out;
  }
  return source;
}

void StoreResult(Wave& wave, const Op* op, unsigned index, Ty type, RowBuffer* result,
                 uint64_t lanes) {
  const Modifiers& m = op->modifiers();
  PostProcess(wave, op, type, result);
  unsigned row_index = op->operand[index].index;
  if (Is64(type)) {
    uint32_t* low = wave.Row(row_index);
    uint32_t* high = wave.Row(row_index + 1);
    const uint64_t* values = result->u64();
    RowBuffer split[2];
    for (unsigned i = 0; i < wave.lanes; ++i) {
      split[0].u32()[i] = static_cast<uint32_t>(values[i]);
      split[1].u32()[i] = static_cast<uint32_t>(values[i] >> 32);
    }
    Blend(low, split[0].u32(), lanes, wave.lanes);
    Blend(high, split[1].u32(), lanes, wave.lanes);
    return;
  }
  uint32_t* dst = wave.Row(row_index);
  uint32_t* values = result->u32();
  if (m.is_sdwa) {
    for (unsigned i = 0; i < wave.lanes; ++i)
      values[i] = MergeSdwa(dst[i], values[i], m.dst_sel, m.dst_unused);
  } else if (Is16(type)) {
    if (m.op_sel & 8) {
      for (unsigned i = 0; i < wave.lanes; ++i) values[i] = (dst[i] & 0xFFFF) | values[i] << 16;
    } else if (!wave.architecture->zeroes_high_16 || (op->row->flags & kKeepsHigh16)) {
      for (unsigned i = 0; i < wave.lanes; ++i)
        values[i] = (dst[i] & 0xFFFF0000) | (values[i] & 0xFFFF);
    }
  }
  Blend(dst, values, lanes, wave.lanes);
}

const Op* ExecVectorPlain(Wave& wave, const Op* op) {
  uint32_t* dst = wave.Row(op->operand[0].index);
  RowBuffer buffers[3];
  const void* sources[3];
  unsigned count = op->operand_count - 1u;
  for (unsigned i = 0; i < count; ++i)
    sources[i] = Fetch32(wave, op->operand[i + 1], buffers[i].u32());
  if (op->row->flags & kAccumulates) sources[count] = dst;
  FloatMode mode(wave, op->row->types[0]);
  return RunPlain(wave, op, dst, sources);
}

void UseRowForm(Op* op) {
  unsigned count = op->operand_count - 1u;
  if (op->row->prepare != nullptr || op->operand[0].kind != Operand::Kind::kVector || count > 3)
    return;
  RowForm form;
  form.destination = op->operand[0].index;
  std::fill(std::begin(form.source), std::end(form.source),
            form.destination);  // read if it adds up
  const void* constant = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    const Operand& operand = op->operand[i + 1];
    if (operand.kind == Operand::Kind::kVector) {
      form.source[i] = operand.index;
    } else if (operand.kind == Operand::Kind::kConstant &&
               (constant == nullptr || constant == operand.row)) {
      constant = operand.row;
      form.source[i] = RowForm::kConstant;
    } else {
      return;
    }
  }
  op->imm = static_cast<int64_t>(reinterpret_cast<intptr_t>(constant));
  op->imm2 = std::bit_cast<uint64_t>(form);
  op->exec = &ExecVectorRegisters;
}

const Op* ExecVectorRegisters(Wave& wave, const Op* op) {
  if ((wave.mode & 0xFF) != 0xF0) [[unlikely]]
    return ExecVectorPlain(wave, op);
  const RowForm form = RowForm::Of(op);
  const void* sources[3];
  for (unsigned i = 0; i < 3; ++i) {
    sources[i] = form.source[i] == RowForm::kConstant ? reinterpret_cast<const void*>(op->imm)
                                                      : wave.Row(form.source[i]);
  }
  return RunPlain(wave, op, wave.Row(form.destination), sources);
}

const Op* ExecVector(Wave& wave, const Op* op) {
  uint64_t lanes = op->row->flags & kIgnoresExec ? wave.full_exec : wave.exec();
  RowBuffer result;
  if (lanes != 0 && RunLanes(wave, op, 1, &result, &lanes))
    StoreResult(wave, op, 0, op->row->types[0], &result, lanes);
  return op + 1;
}

const Op* ExecCompare(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  uint64_t mask = 0;
  RowBuffer result;
  if (lanes != 0 && RunLanes(wave, op, 1, &result, &lanes))
    mask = CollectMask(result.u32(), wave.lanes) & lanes;
  WriteMask(wave, op->operand[0], mask);
  return op + 1;
}

const Op* ExecCompareExec(Wave& wave, const Op* op) {
  uint64_t lanes = wave.exec();
  RowBuffer result;
  uint64_t mask = 0;
  if (lanes != 0 && RunLanes(wave, op, 0, &result, &lanes))
    mask = CollectMask(result.u32(), wave.lanes) & lanes;
  wave.set_exec(mask);
  return op + 1;
}

const Op* ExecCompareBoth(Wave& wave, const Op* op) {
  ExecCompare(wave, op);
  wave.set_exec(ReadMask(wave, op->operand[0]));
  return op + 1;
}

}  // namespace rochound::softgpu
