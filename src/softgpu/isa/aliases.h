// SPDX-License-Identifier: MIT
//
// Instructions that a later target has under another name (global_load_dword became global_load_b32
// in gfx11). They are the same instructions: tables.cpp looks up the row of the first name. Built
// once, never changed, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "softgpu/isa/architecture.h"

namespace rochound::softgpu {

struct Alias {
  std::string mnemonic;
  std::string first_name;  // may be an alias itself
};

// Empty if the target has no instruction of this name under another one.
std::string_view FirstNameOf(const Architecture& architecture, std::string_view mnemonic);

// All that the target has.
std::span<const Alias> AliasesOf(const Architecture& architecture);

}  // namespace rochound::softgpu
