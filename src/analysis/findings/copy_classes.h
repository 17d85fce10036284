// SPDX-License-Identifier: MIT
//
// The time that copies cost, by what could be done about them. Each copy is in one class. Used by
// the rules about copies.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "analysis/findings/picture.h"

namespace rochound::analysis {

enum class CopyClass : uint8_t {
  kSmall,     // one of many small ones between host and GPU
  kPageable,  // the host's side is known not to be pinned
  kAsync,     // asynchronous, and pinned as far as is known: could run beside kernels
  kSync,      // likewise, and the host waits for it
  kDevice,    // from GPU memory to GPU memory
};
inline constexpr size_t kCopyClasses = 5;
inline constexpr int64_t kSmallCopy = 64 << 10;
inline constexpr int64_t kManyCopies = 50;

struct CopyTime {
  int64_t ns = 0;  // that the GPU or everybody waited for them
  int64_t copies = 0, bytes = 0;
  std::string call;  // the one with most time
};

std::array<CopyTime, kCopyClasses> ClassifyCopies(const Picture& picture);

}  // namespace rochound::analysis
