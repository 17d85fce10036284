// SPDX-License-Identifier: MIT
//
// How a fuzzer says what holds for every input.
#pragma once

#include <cstdlib>

namespace rochound::fuzz {

inline void Must(bool condition) {
  if (!condition) abort();
}

}  // namespace rochound::fuzz
