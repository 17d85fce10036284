// SPDX-License-Identifier: MIT
//
// FNV-1a, 64 bits: names for content and ids that must be the same on every machine and in every
// release. Not for anything that an attacker may choose. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rochound::base {

inline constexpr uint64_t kFnvOffset = 0xcbf29ce484222325ull;

// Hashes text; pass the previous result as seed to hash several pieces as if they were one.
constexpr uint64_t Fnv1a64(std::string_view text, uint64_t seed = kFnvOffset) {
  uint64_t hash = seed;
  for (char character : text) {
    hash ^= static_cast<uint8_t>(character);
    hash *= 0x100000001b3ull;
  }
  return hash;
}

// Sixteen lower-case hexadecimal digits.
std::string Hex64(uint64_t number);

}  // namespace rochound::base
