// SPDX-License-Identifier: MIT
//
// Finds what kernels can be compiled again from: LLVM bitcode in code objects (-Xclang
// -fembed-bitcode=all), in objects that are still to be linked (-fgpu-rdc), or on its own, as text
// or not (Triton's .llir). Offline, one thread. Files may come from anybody: what does not fit is
// an error or a remark, never a crash.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::probe {

struct Bitcode {
  std::string target;  // gfx942:xnack-
  std::string bytes;
  bool text = false;
  bool unlinked = false;      // a part: all parts for a target are linked first
  std::string level = "-O3";  // as it was compiled, where that is known
};

struct FoundBitcode {
  std::vector<Bitcode> modules;
  std::vector<std::string> without;  // what has none, and what to do about it
};

// target: of bitcode that does not say it by itself; may be empty.
base::Result<FoundBitcode> FindBitcode(const std::filesystem::path& file,
                                       const std::string& target);

}  // namespace rochound::probe
