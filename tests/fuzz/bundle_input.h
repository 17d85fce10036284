// SPDX-License-Identifier: MIT
//
// How a capture bundle is laid into one fuzzer input, for bundle_fuzz.cpp and for the program that
// makes its seeds. A byte that says how the rest is taken, the sizes of six parts in two bytes
// each, the parts, and the manifest up to the end: parts may be changed, cut and joined without
// ruining the others.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rochound::fuzz {

enum Part { kBeforeExtents, kBeforeData, kAfterExtents, kAfterData, kKernarg, kCodeObject, kParts };

struct BundleInput {
  enum Choice : uint8_t {
    kAsItStands = 1,   // nothing is put right; the first part is the file of checksums
    kKeepExtents = 2,  // places and checksums of extents are not put right
    kKeepKernarg = 4,  // its size is not put right
    kPack = 8,         // a bundle that can be read is packed, too
  };
  uint8_t choice = 0;
  std::array<std::string, kParts> parts;
  std::string manifest;
};

inline std::string Encode(const BundleInput& input) {
  std::string text(1, static_cast<char>(input.choice));
  for (const std::string& part : input.parts) {
    text += static_cast<char>(part.size() & 0xff);
    text += static_cast<char>(part.size() >> 8);
  }
  for (const std::string& part : input.parts) text += part;
  return text + input.manifest;
}

inline BundleInput Decode(std::string_view text) {
  BundleInput input;
  if (text.size() < 1 + 2 * size_t{kParts}) return input;
  input.choice = static_cast<uint8_t>(text[0]);
  std::string_view rest = text.substr(1 + 2 * size_t{kParts});
  for (size_t i = 0; i < kParts; ++i) {
    const size_t size = static_cast<uint8_t>(text[1 + 2 * i]) |
                        static_cast<size_t>(static_cast<uint8_t>(text[2 + 2 * i])) << 8;
    input.parts[i] = rest.substr(0, size);
    rest.remove_prefix(std::min(size, rest.size()));
  }
  input.manifest = rest;
  return input;
}

}  // namespace rochound::fuzz
