// SPDX-License-Identifier: MIT
//
// The functions of an AMD GPU code object (an ELF file), with the wave size each is compiled for.
// Called by isa_coverage alone. Nothing is kept: the result refers to the bytes it was given.
// A file that is none, or that ends too early, gives nullopt and the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rochound::coverage {

struct Function {
  std::string name;
  std::span<const uint8_t> code;
  unsigned wave_size = 64;
};

struct CodeObject {
  std::string target;  // "gfx942", empty if the file is for another
  std::vector<Function> functions;
};

std::optional<CodeObject> ReadCodeObject(std::span<const uint8_t> file, std::string* why);

}  // namespace rochound::coverage
