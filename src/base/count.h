// SPDX-License-Identifier: MIT
//
// A number with its noun, for messages: "1 process", "3 processes". Any thread; never fails.
#pragma once

#include <cstdint>
#include <string>

namespace rochound::base {

inline std::string Count(uint64_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

}  // namespace rochound::base
