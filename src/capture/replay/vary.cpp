// SPDX-License-Identifier: MIT
#include "capture/replay/vary.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "capture/replay/plan.h"

namespace rochound::capture::replay {
namespace {

// splitmix64: every seed gives another series.
uint64_t Mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ value >> 27) * 0x94D049BB133111EBULL;
  return value ^ value >> 31;
}

struct Layout {
  unsigned bits, mantissa;
};

Layout LayoutOf(Element type) {
  switch (type) {
    case Element::kHalf:
      return {16, 10};
    case Element::kBfloat16:
      return {16, 7};
    case Element::kFloat:
      return {32, 23};
    default:
      return {64, 52};
  }
}

uint64_t LoadBits(const std::byte* at, size_t size) {
  uint64_t value = 0;
  memcpy(&value, at, size);
  return value;
}

}  // namespace

std::optional<InputKind> InputKindNamed(std::string_view name) {
  constexpr std::string_view kNames[] = {"floats", "range", "values", "special"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<InputKind>(i);
  return std::nullopt;
}

size_t VaryIntegers(Element type, bool in_range, uint64_t seed, std::span<std::byte> bytes) {
  const size_t size = SizeOf(type);
  const size_t count = bytes.size() / size;
  if (count == 0) return 0;
  const std::vector<std::byte> old(bytes.begin(), bytes.end());
  const std::byte* least = old.data();
  const std::byte* greatest = old.data();
  for (size_t i = 1; i < count; ++i) {
    const std::byte* const at = old.data() + i * size;
    if (Less(type, at, least)) least = at;
    if (Less(type, greatest, at)) greatest = at;
  }
  // In two's complement, differences are the same for all integers.
  uint64_t first = LoadBits(least, size);
  uint64_t width = LoadBits(greatest, size) - first;
  if (size < sizeof(width)) width &= (uint64_t{1} << (8 * size)) - 1;
  if (width == 0) {  // all are the same: from zero to it, or one
    const bool negative = ValueOf(type, least) < 0;
    width = negative ? 0 - first : first;
    if (size < sizeof(width)) width &= (uint64_t{1} << (8 * size)) - 1;
    if (!negative) first = 0;
    width = std::max<uint64_t>(width, 1);
  }
  size_t changed = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t drawn = Mix(seed ^ Mix(i));
    const uint64_t value = !in_range             ? LoadBits(old.data() + drawn % count * size, size)
                           : width == UINT64_MAX ? drawn
                                                 : first + drawn % (width + 1);
    changed += memcmp(&value, old.data() + i * size, size) != 0 ? 1 : 0;
    memcpy(bytes.data() + i * size, &value, size);
  }
  return changed;
}

void AddSpecial(Element type, bool extremes, uint64_t seed, std::span<std::byte> bytes) {
  const Layout layout = LayoutOf(type);
  const size_t size = SizeOf(type);
  const uint64_t sign = uint64_t{1} << (layout.bits - 1);
  const uint64_t mantissa = (uint64_t{1} << layout.mantissa) - 1;
  const uint64_t infinity = (sign - 1) & ~mantissa;
  const uint64_t quiet = uint64_t{1} << (layout.mantissa - 1);
  const uint64_t values[] = {infinity | quiet,
                             infinity,
                             infinity | sign,
                             0,  // and with extremes:
                             sign,
                             infinity - 1,
                             (infinity - 1) | sign,
                             1,
                             mantissa};
  const size_t kinds = extremes ? std::size(values) : 4;
  const size_t count = bytes.size() / size;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t drawn = Mix(~seed ^ Mix(i));
    if (drawn % 8 != 0) continue;
    memcpy(bytes.data() + i * size, &values[drawn / 8 % kinds], size);
  }
}

size_t VaryElements(Element type, uint64_t seed, std::span<std::byte> bytes) {
  const Layout layout = LayoutOf(type);
  const size_t size = SizeOf(type);
  const size_t count = bytes.size() / size;
  if (count == 0) return 0;
  const uint64_t mantissa = (uint64_t{1} << layout.mantissa) - 1;
  const uint64_t exponent = ((uint64_t{1} << (layout.bits - 1)) - 1) & ~mantissa;
  const std::vector<std::byte> old(bytes.begin(), bytes.end());
  const bool zeros =
      std::all_of(old.begin(), old.end(), [](std::byte byte) { return byte == std::byte{0}; });
  // The exponent of 0.5 is one less than the bias.
  const uint64_t half = (((exponent >> layout.mantissa) >> 1) - 1) << layout.mantissa;
  const size_t turn = count > 1 ? 1 + Mix(seed) % (count - 1) : 0;
  size_t changed = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    memcpy(&value, old.data() + (i + turn) % count * size, size);
    const uint64_t drawn = Mix(seed ^ Mix(i)) & mantissa;
    const uint64_t magnitude = value & ~(uint64_t{1} << (layout.bits - 1));
    if (zeros) {
      value = half | drawn;
    } else if (magnitude != 0 && (value & exponent) != exponent) {
      value = (value & ~mantissa) | drawn;
    }
    changed += memcmp(&value, old.data() + i * size, size) != 0 ? 1 : 0;
    memcpy(bytes.data() + i * size, &value, size);
  }
  return changed;
}

void VaryBytes(uint64_t seed, uint64_t address, std::span<const Region> regions,
               std::span<std::byte> bytes) {
  for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, bytes.data() + at, sizeof(word));
    if (RegionAt(regions, word) >= 0) continue;
    word = Mix(seed ^ (address + at));
    memcpy(bytes.data() + at, &word, sizeof(word));
  }
}

}  // namespace rochound::capture::replay
