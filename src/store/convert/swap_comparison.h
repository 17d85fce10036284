// SPDX-License-Identifier: MIT
//
// What came out when a captured launch was run again with the kernel that takes its kernel's place
// (`rochound run --swap-verify`): found after the program's end, and put into the trace where the
// log has the launch. Plain values, any thread.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace rochound::store {

inline constexpr const char* kSwapEqual = "equal";
inline constexpr const char* kSwapDifferent = "different";
inline constexpr const char* kSwapNotVerified = "not verified";

struct SwapComparison {
  std::string result;  // one of the above
  std::string reason;
};
using SwapComparisons = std::map<std::string, SwapComparison, std::less<>>;  // by capture

}  // namespace rochound::store
