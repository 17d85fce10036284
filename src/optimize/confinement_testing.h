// SPDX-License-Identifier: MIT
//
// Whether confinement can be expected here: the kernel is asked, not the code under test. A test
// may skip where Landlock is missing, and nowhere else.
#pragma once

#include <unistd.h>

namespace rochound::optimize {

// The version of Landlock's interface that this kernel has; below 1: none, or it is switched off.
inline long LandlockVersion() {
  constexpr long kCreateRuleset = 444;  // which headers of older systems do not have
  constexpr unsigned kAskVersion = 1;
  return syscall(kCreateRuleset, nullptr, 0, kAskVersion);
}

inline constexpr long kFirstLandlockWithSignals = 6;

}  // namespace rochound::optimize
