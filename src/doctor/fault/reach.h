// SPDX-License-Identifier: MIT
//
// Which memory one launch of a kernel can touch, found by following its machine code with what is
// known about the launch: arguments, grid, and the memory that was saved when the GPU failed. Each
// register holds a range of values and where they come from; branches that the arguments decide
// are followed one way only, loops until nothing changes, or else their values count as unknown.
// So a range is never too small as long as the code is understood: what is not in any range was
// not touched. Offline, pure, any thread. Code that calls functions, or is too large, is
// followed as far as that goes, and `complete` says so.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "codeobj/code_object.h"
#include "codeobj/disassembly.h"

namespace rochound::doctor {

// A value's source.
struct Origin {
  enum class Kind {
    kArgument,  // bytes of the kernel's arguments
    kMemory,    // loaded from memory
  };
  Kind kind = Kind::kArgument;
  uint64_t offset = 0;   // kArgument: of its aligned eight bytes among the arguments
  bool exact = false;    // kMemory: it was loaded from `first` and nowhere else
  uint64_t first = 0;    // kMemory: the first address that it may have been loaded from
  uint64_t last = 0;     // and the last; both 0: not known
  uint32_t bytes = 0;    // of one element
  uint64_t parents = 0;  // kMemory: bits of the origins that its address is made of
};

struct Access {
  enum class Kind { kRead, kWrite, kCall };
  Kind kind = Kind::kRead;
  size_t instruction = 0;  // index
  uint32_t bytes = 0;
  bool bounded = false;  // first and last are known
  uint64_t first = 0;    // byte that it may touch
  uint64_t last = 0;
  uint64_t origins = 0;  // bits of Reach::origins that the address is made of

  bool Touches(uint64_t begin, uint64_t size) const {
    return !bounded || (first < begin + size && last >= begin);
  }
};

struct Reach {
  std::vector<Access> accesses;
  std::vector<Origin> origins;
  bool complete = false;  // all code was followed
  std::string why;        // not
};

struct LaunchFacts {
  uint64_t kernarg = 0;  // address
  std::string_view kernarg_bytes;
  std::array<uint64_t, 3> grid{1, 1, 1};
  std::array<uint64_t, 3> workgroup{1, 1, 1};
  uint64_t load_delta = 0;  // loaded address - address in the file
};

// Saved bytes of the process's memory; false: these were not saved.
using ReadSaved = std::function<bool(uint64_t address, void* to, size_t bytes)>;

// `processor`: gfx1030.
Reach FindReach(const std::vector<codeobj::Instruction>& code, const std::string& processor,
                const codeobj::Kernel& kernel, const LaunchFacts& launch, const ReadSaved& read);

}  // namespace rochound::doctor
