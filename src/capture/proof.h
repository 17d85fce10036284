// SPDX-License-Identifier: MIT
//
// What a comparison of results proves, in words: the one place for replay, compare, judge, optimize,
// swapped kernels and exported projects. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>

namespace rochound::capture {

inline constexpr const char* kEqualInEveryByte = "equal in every byte";
inline constexpr const char* kEqualWithin = "equal within the tolerance";
inline constexpr const char* kEqualButNan = "equal but for the bits of NaN";
inline constexpr const char* kNotVerified = "not verified";

// Results that a comparison found equal.
struct Proof {
  std::string tolerance;    // as people read it; "": none was given
  uint64_t bytes = 0;       // that differ all the same, in the comparison where most do
  std::string worst;        // the element that is farthest off; "": none is off
  size_t other_inputs = 0;  // that were tried besides the captured one
};

// "equal in every byte, from the captured input and 3 others".
std::string ProofText(const Proof& proof);

}  // namespace rochound::capture
