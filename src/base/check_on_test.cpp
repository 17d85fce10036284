// SPDX-License-Identifier: MIT
//
// What ROCHOUND_DCHECK does where checks are on, in every build.
#undef ROCHOUND_CHECKS
#define ROCHOUND_CHECKS
#include <gtest/gtest.h>

#include <string>

#include "base/check.h"

namespace rochound::base {
namespace {

std::string failed;  // by Remember

void Remember(const char* what) { failed = what; }

TEST(CheckOnTest, WhatHoldsIsEvaluatedOnceAndSaysNothing) {
  int evaluated = 0;
  ROCHOUND_DCHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckOnTest, WhatDoesNotHoldIsNamedAndEndsTheProcess) {
  const int used = 5;
  EXPECT_DEATH(
      ROCHOUND_DCHECK(used < 4),
      "rochound: check failed: .*src/base/check_on_test.cpp:[0-9]+: used < 4 does not hold");
}

TEST(CheckOnTest, AHandlerIsToldAndTheCodeGoesOn) {
  const CheckHandler before = SetCheckHandler(Remember);
  failed.clear();
  ROCHOUND_DCHECK(1 + 1 == 2);
  EXPECT_EQ(failed, "");
  ROCHOUND_DCHECK(1 + 1 == 3);
  EXPECT_EQ(SetCheckHandler(before), Remember);
  EXPECT_NE(failed.find("check_on_test.cpp:"), std::string::npos) << failed;
  EXPECT_TRUE(failed.ends_with(": 1 + 1 == 3 does not hold")) << failed;
}

}  // namespace
}  // namespace rochound::base
