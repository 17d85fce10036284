// SPDX-License-Identifier: MIT
//
// Kernels that omniprobe's compiler plugin has instrumented: a copy of each kernel under another
// name, with one more argument, a pointer to where its messages go (dh_comms). A launch of the
// original has no such argument, and hidden arguments are after it, so the copy needs arguments
// of its own. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace rochound::codeobj {

struct SwapLaunch;

// "__amd_crk_" + symbol + "Pv"
std::string OmniprobeName(std::string_view symbol);
// The original's symbol; empty: it is no such name.
std::string_view OriginalOfOmniprobe(std::string_view symbol);

// How the copy's arguments are made of the original's.
struct OmniprobeArguments {
  struct Piece {  // of the original's
    uint64_t from = 0, to = 0, bytes = 0;
  };
  // What the original does not get, and what follows from the launch.
  struct Value {
    enum class Kind { kBlockCount, kGroupSize, kRemainder, kGridDims, kZero };
    Kind kind = Kind::kZero;
    int axis = 0;
    uint64_t to = 0, bytes = 0;
  };
  uint64_t bytes = 0;       // of the copy's arguments
  uint64_t descriptor = 0;  // offset of the pointer
  std::vector<Piece> pieces;
  std::vector<Value> values;

  // original: as many bytes as pieces need; made: `bytes` long.
  void Make(std::span<const std::byte> original, const SwapLaunch& launch,
            uint64_t descriptor_address, std::span<std::byte> made) const;
};

// An error: it has other arguments than the original and one pointer, or needs a hidden one that
// nobody can give it.
base::Result<OmniprobeArguments> PlanOmniprobeArguments(const Kernel& original, const Kernel& copy);

}  // namespace rochound::codeobj
