// SPDX-License-Identifier: MIT
//
// What a code object is compiled for: a processor such as gfx942, and whether it wants SRAM-ECC and
// XNACK on or off. Read from an ELF header or from text ("amdgcn-amd-amdhsa--gfx942:xnack-"), and
// compared with what a GPU offers. Plain values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rochound::codeobj {

enum class Feature : uint8_t { kNone, kAny, kOff, kOn };  // kNone: the processor has no such switch

struct Target {
  std::string processor;  // "gfx942", or "gfx9-4-generic"
  Feature sramecc = Feature::kNone;
  Feature xnack = Feature::kNone;
  uint32_t generic_version = 0;  // of a generic processor, otherwise 0

  // "gfx942:sramecc+:xnack-"; what may be either way is left out.
  std::string Id() const;
};

// flags and abi_version: e_flags and e_ident[EI_ABIVERSION] of the code object.
base::Result<Target> TargetOfFlags(uint32_t flags, uint8_t abi_version);

// Text that ends in a target id, whatever triple is before it. What is not named is kAny.
base::Result<Target> ParseTarget(std::string_view text);

// Whether code compiled for this runs on a GPU that calls itself so.
bool RunsOn(const Target& code, const Target& gpu);

}  // namespace rochound::codeobj
