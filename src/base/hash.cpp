// SPDX-License-Identifier: MIT
#include "base/hash.h"

namespace rochound::base {

std::string Hex64(uint64_t number) {
  std::string digits(16, '0');
  for (int i = 15; i >= 0; --i, number >>= 4) digits[i] = "0123456789abcdef"[number & 15];
  return digits;
}

}  // namespace rochound::base
