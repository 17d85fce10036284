// SPDX-License-Identifier: MIT
#include "capture/replay/vary.h"

#include <algorithm>
#include <cstring>
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

}  // namespace

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
