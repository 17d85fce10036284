// SPDX-License-Identifier: MIT
//
// Other inputs for a captured launch. A build that knows the captured results, or the captured
// inputs, is right on them alone; so the captured code and the build are both run from memory that
// no program had: floating elements in another order and with other mantissas, and other bytes
// where results are to be written. Signs and exponents stay, so that sums, roots and loops remain
// what they were in kind. Integers may be indices or counts: whoever asks decides whether they are
// varied, after a look at what the captured code does then. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "capture/manifest.h"
#include "capture/replay/elements.h"

namespace rochound::capture::replay {

// How inputs are varied.
enum class InputKind : uint8_t {
  kFloats,   // integers stay
  kRange,    // integers, too: any value between the least and the greatest one
  kValues,   // integers, too: values that are there
  kSpecial,  // floats, and among them NaN, infinities, zeros, and the largest and smallest numbers
};
// floats, range, values, special.
std::optional<InputKind> InputKindNamed(std::string_view name);

// bytes: elements of a floating type. Returns how many are other ones now.
size_t VaryElements(Element type, uint64_t seed, std::span<std::byte> bytes);

// bytes: elements of an integer type; in_range: kRange, otherwise kValues.
size_t VaryIntegers(Element type, bool in_range, uint64_t seed, std::span<std::byte> bytes);

// Makes an eighth of the elements, of a floating type, special. extremes: also the largest and the
// smallest numbers, whose sums depend on their order.
void AddSpecial(Element type, bool extremes, uint64_t seed, std::span<std::byte> bytes);

// Fills bytes, which are at this address, with what only their address and the seed tell. Words
// that hold an address in one of the regions stay.
void VaryBytes(uint64_t seed, uint64_t address, std::span<const Region> regions,
               std::span<std::byte> bytes);

}  // namespace rochound::capture::replay
