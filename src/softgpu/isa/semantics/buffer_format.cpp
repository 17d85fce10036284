// SPDX-License-Identifier: MIT
//
// Typed buffer accesses: components are converted between the format in memory and registers. MUBUF
// takes format and component selection from the descriptor, MTBUF the format from its encoding.
// Conversions that are not exact (normalised and packed small floats) are refused.
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "softgpu/isa/lane_types.h"
#include "softgpu/isa/semantics/buffer_memory.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

enum class Number : uint8_t { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kFloat, kNone };

struct Format {
  uint8_t components = 0;  // 0: invalid, or components of different widths
  uint8_t bits = 0;        // of each
  Number number = Number::kNone;

  unsigned bytes() const { return components * bits / 8u; }
  bool is_integer() const { return number == Number::kUint || number == Number::kSint; }
};

// gfx9: data format (4 bits) and number format (3 bits).
Format DecodeFormat9(uint32_t data, uint32_t number) {
  static constexpr Format kShapes[16] = {{}, {1, 8}, {1, 16}, {2, 8},  {1, 32}, {2, 16}, {}, {}, {},
                                         {}, {4, 8}, {2, 32}, {4, 16}, {3, 32}, {4, 32}, {}};
  static constexpr Number kNumbers[8] = {Number::kUnorm,   Number::kSnorm, Number::kUscaled,
                                         Number::kSscaled, Number::kUint,  Number::kSint,
                                         Number::kNone,    Number::kFloat};
  Format format = kShapes[data & 15];
  format.number = kNumbers[number & 7];
  return format;
}

// gfx10: one number for both. Runs of one shape, each with its number formats in the same order.
Format DecodeFormat10(uint32_t code) {
  struct Shape {
    uint8_t first, count;
    Number first_number;
    Format format;
  };
  static constexpr Shape kShapes[] = {
      {1, 6, Number::kUnorm, {1, 8}},   {7, 7, Number::kUnorm, {1, 16}},
      {14, 6, Number::kUnorm, {2, 8}},  {20, 3, Number::kUint, {1, 32}},
      {23, 7, Number::kUnorm, {2, 16}}, {56, 6, Number::kUnorm, {4, 8}},
      {62, 3, Number::kUint, {2, 32}},  {65, 7, Number::kUnorm, {4, 16}},
      {72, 3, Number::kUint, {3, 32}},  {75, 3, Number::kUint, {4, 32}},
  };
  for (const Shape& shape : kShapes) {
    if (code < shape.first || code >= uint32_t{shape.first} + shape.count) continue;
    Format format = shape.format;
    format.number =
        static_cast<Number>(static_cast<uint32_t>(shape.first_number) + code - shape.first);
    return format;
  }
  return {};
}

// gfx11 left some of gfx10's formats out and closed the gaps.
Format DecodeFormat11(uint32_t code) {
  struct Run {
    uint8_t last;
    uint8_t added;  // to get gfx10's number
  };
  // Up to 16_16_FLOAT, 10_11_11 and 11_11_10 (float only), 10_10_10_2 (twice two kinds), the rest.
  static constexpr Run kRuns[] = {{29, 0}, {30, 6}, {31, 12}, {33, 12}, {35, 14}, {63, 14}};
  for (const Run& run : kRuns) {
    if (code <= run.last) return DecodeFormat10(code + run.added);
  }
  return {};
}

struct TypedAccess {
  Format format;
  std::array<uint8_t, 4> select = {4, 5, 6, 7};  // 0 and 1 are constants, 4..7 are x..w
};

template <bool kFormatInEncoding>
TypedAccess Decode(const Op* op, const BufferDescriptor& d) {
  TypedAccess typed;
  if constexpr (kFormatInEncoding) {
    uint32_t word = op->source->words[0];
    // gfx12's encoding is longer.
    if (op->source->size == 12) {
      typed.format = DecodeFormat11(op->source->words[1] >> 23 & 0x7F);
    } else if (d.is_gfx10) {
      uint32_t code = word >> 19 & 0x7F;
      typed.format = d.is_gfx11 ? DecodeFormat11(code) : DecodeFormat10(code);
    } else {
      typed.format = DecodeFormat9(word >> 19 & 0xF, word >> 23 & 7);
    }
  } else {
    typed.format = d.is_gfx11   ? DecodeFormat11(d.word3 >> 12 & 0x3F)
                   : d.is_gfx10 ? DecodeFormat10(d.word3 >> 12 & 0x7F)
                                : DecodeFormat9(d.word3 >> 15 & 0xF, d.word3 >> 12 & 7);
    for (unsigned i = 0; i < 4; ++i) typed.select[i] = d.word3 >> (3 * i) & 7;
  }
  return typed;
}

// A component as a 32-bit register sees it; as a 16-bit half for d16.
uint32_t ConvertLoaded(const Format& format, uint32_t raw, bool d16) {
  bool is_signed = format.number == Number::kSint || format.number == Number::kSscaled;
  if (is_signed && format.bits < 32) {
    raw = static_cast<uint32_t>(static_cast<int32_t>(raw << (32 - format.bits)) >>
                                (32 - format.bits));
  }
  switch (format.number) {
    case Number::kUscaled:
      return std::bit_cast<uint32_t>(static_cast<float>(raw));
    case Number::kSscaled:
      return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(raw)));
    case Number::kFloat:
      return format.bits == 16 && !d16 ? std::bit_cast<uint32_t>(HalfToFloat(raw)) : raw;
    default:
      return raw;
  }
}

bool CanLoad(const Format& format, bool d16) {
  if (format.components == 0) return false;
  if (d16) return format.bits <= 16 && (format.is_integer() || format.number == Number::kFloat);
  return format.is_integer() || format.number == Number::kUscaled ||
         format.number == Number::kSscaled || format.number == Number::kFloat;
}

// Stores are done where nothing is converted.
bool CanStore(const TypedAccess& typed, unsigned components, bool d16) {
  const Format& format = typed.format;
  if (format.components == 0 || format.components > components) return false;
  for (unsigned i = 0; i < format.components; ++i) {
    if (typed.select[i] != 4 + i) return false;
  }
  return format.bits == (d16 ? 16 : 32) && (format.is_integer() || format.number == Number::kFloat);
}

const Op* Refuse(Wave& wave, const Op* op) {
  return wave.StopIllegal(op, "not implemented: this buffer format");
}

// kHigh: a single 16-bit component that lives in the upper half of its register.
enum class Packing : uint8_t { kDwords, kHalves, kHigh };

template <unsigned kComponents, Packing P, bool kFormatInEncoding>
const Op* ExecTypedLoad(Wave& wave, const Op* op) {
  constexpr bool kD16 = P != Packing::kDwords;
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  BufferAccess access = BufferAccess::Of(wave, op);
  TypedAccess typed = Decode<kFormatInEncoding>(op, access.descriptor);
  const Format& format = typed.format;
  if (!CanLoad(format, kD16)) return Refuse(wave, op);
  LaneBytes bytes;
  uint64_t in_range;
  if (!ReadBuffer(wave, op, access, mask, format.bytes(), true, &bytes, &in_range)) return nullptr;
  bool keeps = KeepsOtherHalf(wave);
  uint32_t one = format.is_integer() ? 1 : kD16 ? 0x3C00 : 0x3F800000;
  ForEachLane(mask, [&](unsigned lane) {
    bool inside = in_range >> lane & 1;
    uint32_t values[8] = {0, one, 0, 0, 0, 0, 0, inside ? one : 0};
    const uint8_t* from = bytes.of + lane * kLaneBytes;
    for (unsigned i = 0; inside && i < format.components; ++i) {
      uint32_t raw = 0;
      std::memcpy(&raw, from + i * format.bits / 8, format.bits / 8u);
      values[4 + i] = ConvertLoaded(format, raw, kD16);
    }
    for (unsigned i = 0; i < kComponents; ++i) {
      uint32_t value = values[typed.select[i]];
      if constexpr (P == Packing::kDwords) {
        wave.Row(access.data + i)[lane] = value;
      } else {
        uint32_t& dst = wave.Row(access.data + i / 2)[lane];
        bool high = P == Packing::kHigh || i % 2 == 1;
        if (!keeps && (P == Packing::kHigh || i % 2 == 0)) dst = 0;
        dst = high ? (dst & 0xFFFF) | value << 16 : (dst & 0xFFFF0000) | (value & 0xFFFF);
      }
    }
  });
  return op + 1;
}

template <unsigned kComponents, Packing P, bool kFormatInEncoding>
const Op* ExecTypedStore(Wave& wave, const Op* op) {
  uint64_t mask = wave.exec();
  if (mask == 0) return op + 1;
  BufferAccess access = BufferAccess::Of(wave, op);
  TypedAccess typed = Decode<kFormatInEncoding>(op, access.descriptor);
  if (!CanStore(typed, kComponents, P != Packing::kDwords)) return Refuse(wave, op);
  LaneBytes bytes;
  ForEachLane(mask, [&](unsigned lane) {
    uint8_t* to = bytes.of + lane * kLaneBytes;
    for (unsigned i = 0; i < typed.format.components; ++i) {
      if constexpr (P == Packing::kDwords) {
        std::memcpy(to + i * 4, &wave.Row(access.data + i)[lane], 4);
      } else {
        uint32_t pair = wave.Row(access.data + i / 2)[lane];
        bool high = P == Packing::kHigh || i % 2 == 1;
        uint16_t half = static_cast<uint16_t>(high ? pair >> 16 : pair);
        std::memcpy(to + i * 2, &half, 2);
      }
    }
  });
  if (!WriteBuffer(wave, op, access, mask, typed.format.bytes(), true, bytes)) return nullptr;
  return op + 1;
}

bool Prepare(const AsmInstruction& instruction, const Architecture&, Op* op, std::string* why) {
  if (instruction.modifiers.lds) {
    *why = "typed load to LDS";
    return false;
  }
  return PrepareBuffer(instruction, false, op, why);
}

constexpr std::array<Ty, kMaxOperands> kRawOperands = {Ty::kRaw, Ty::kRaw, Ty::kRaw, Ty::kRaw};

template <unsigned kComponents, Packing P, bool kFormatInEncoding>
constexpr Row Load(std::string_view mnemonic) {
  return {mnemonic,
          &ExecTypedLoad<kComponents, P, kFormatInEncoding>,
          kRawOperands,
          nullptr,
          0,
          kAllTargets,
          &Prepare};
}
template <unsigned kComponents, Packing P, bool kFormatInEncoding>
constexpr Row Store(std::string_view mnemonic) {
  return {mnemonic,
          &ExecTypedStore<kComponents, P, kFormatInEncoding>,
          kRawOperands,
          nullptr,
          0,
          kAllTargets,
          &Prepare};
}

using enum Packing;

constexpr Row kRows[] = {
    Load<1, kDwords, false>("buffer_load_format_x"),
    Load<2, kDwords, false>("buffer_load_format_xy"),
    Load<3, kDwords, false>("buffer_load_format_xyz"),
    Load<4, kDwords, false>("buffer_load_format_xyzw"),
    Load<1, kHalves, false>("buffer_load_format_d16_x"),
    Load<2, kHalves, false>("buffer_load_format_d16_xy"),
    Load<3, kHalves, false>("buffer_load_format_d16_xyz"),
    Load<4, kHalves, false>("buffer_load_format_d16_xyzw"),
    Load<1, kHigh, false>("buffer_load_format_d16_hi_x"),
    Store<1, kDwords, false>("buffer_store_format_x"),
    Store<2, kDwords, false>("buffer_store_format_xy"),
    Store<3, kDwords, false>("buffer_store_format_xyz"),
    Store<4, kDwords, false>("buffer_store_format_xyzw"),
    Store<1, kHalves, false>("buffer_store_format_d16_x"),
    Store<2, kHalves, false>("buffer_store_format_d16_xy"),
    Store<3, kHalves, false>("buffer_store_format_d16_xyz"),
    Store<4, kHalves, false>("buffer_store_format_d16_xyzw"),
    Store<1, kHigh, false>("buffer_store_format_d16_hi_x"),
    Load<1, kDwords, true>("tbuffer_load_format_x"),
    Load<2, kDwords, true>("tbuffer_load_format_xy"),
    Load<3, kDwords, true>("tbuffer_load_format_xyz"),
    Load<4, kDwords, true>("tbuffer_load_format_xyzw"),
    Load<1, kHalves, true>("tbuffer_load_format_d16_x"),
    Load<2, kHalves, true>("tbuffer_load_format_d16_xy"),
    Load<3, kHalves, true>("tbuffer_load_format_d16_xyz"),
    Load<4, kHalves, true>("tbuffer_load_format_d16_xyzw"),
    Store<1, kDwords, true>("tbuffer_store_format_x"),
    Store<2, kDwords, true>("tbuffer_store_format_xy"),
    Store<3, kDwords, true>("tbuffer_store_format_xyz"),
    Store<4, kDwords, true>("tbuffer_store_format_xyzw"),
    Store<1, kHalves, true>("tbuffer_store_format_d16_x"),
    Store<2, kHalves, true>("tbuffer_store_format_d16_xy"),
    Store<3, kHalves, true>("tbuffer_store_format_d16_xyz"),
    Store<4, kHalves, true>("tbuffer_store_format_d16_xyzw"),
};

}  // namespace

std::span<const Row> BufferFormatRows() { return kRows; }

unsigned TypedBufferBytes(const Op* op, const BufferDescriptor& descriptor,
                          bool format_in_encoding) {
  TypedAccess typed =
      format_in_encoding ? Decode<true>(op, descriptor) : Decode<false>(op, descriptor);
  return typed.format.bytes();
}

}  // namespace rochound::softgpu
