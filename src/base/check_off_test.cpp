// SPDX-License-Identifier: MIT
//
// What ROCHOUND_DCHECK does where checks are off, in every build: its condition is compiled, so that
// it does not rot, and not evaluated.
#undef ROCHOUND_CHECKS
#include <gtest/gtest.h>

#include "base/check.h"

namespace rochound::base {
namespace {

TEST(CheckOffTest, NothingIsEvaluated) {
  int evaluated = 0;
  ROCHOUND_DCHECK(++evaluated == 2);
  EXPECT_EQ(evaluated, 0);
}

TEST(CheckOffTest, ItIsAnExpressionThatUsesWhatItNames) {
  const bool used_here_alone = false;
  true ? ROCHOUND_DCHECK(used_here_alone) : static_cast<void>(0);
}

}  // namespace
}  // namespace rochound::base
