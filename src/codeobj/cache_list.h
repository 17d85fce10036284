// SPDX-License-Identifier: MIT
//
// The list of kernels in a kernel cache: written by `rochound run`, which looks for them and
// watches the cache, read by the agent in the program. A text file that only grows, one line for
// each kernel of each code object; fields are separated by tabs. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rochound::codeobj {

struct CacheEntry {
  uint64_t round = 0;  // entries that were found together have the same; later ones have more
  std::string symbol;  // of the kernel, without .kd
  std::string called;  // its C++ name without the parameters
  std::string object;  // path of the code object: the file, or what was unpacked from it
  std::string file;    // as people know it
};

// With the newline. Empty: a name has a character that cannot are in the list.
std::string CacheLine(const CacheEntry& entry);
// Without the newline.
std::optional<CacheEntry> ReadCacheLine(std::string_view line);

// "add<float>(float*, int)" -> "add<float>"; other names as they are.
std::string WithoutParameters(std::string_view readable);

}  // namespace rochound::codeobj
