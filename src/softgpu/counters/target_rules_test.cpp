// SPDX-License-Identifier: MIT
#include "softgpu/counters/target_rules.h"

#include <gtest/gtest.h>

namespace rochound::softgpu {
namespace {

// A target without rules of its own would silently be counted by another's.
TEST(TargetRules, EveryTargetHasItsOwn) {
  for (const char* target : {"gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"}) {
    const Architecture* architecture = FindArchitecture(target);
    ASSERT_NE(architecture, nullptr) << target;
    EXPECT_EQ(RulesFor(*architecture).bit, architecture->bit) << target;
  }
}

}  // namespace
}  // namespace rochound::softgpu
