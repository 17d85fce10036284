// SPDX-License-Identifier: MIT
//
// When work that had not ended with its process is called a hang. Most programs that are stopped
// have a kernel in flight: that alone is none.
#pragma once

#include <cstdint>

namespace rochound::store {

// longest_ns: of the kernel's launches that ended; 0: there is none.
inline bool LooksHung(int64_t running_ns, int64_t longest_ns) {
  constexpr int64_t kSecond = 1'000'000'000, kTimesLonger = 10;
  return running_ns >= kSecond && running_ns / kTimesLonger >= longest_ns;
}

}  // namespace rochound::store
