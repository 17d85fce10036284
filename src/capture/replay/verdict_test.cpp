// SPDX-License-Identifier: MIT
#include "capture/replay/verdict.h"

#include <gtest/gtest.h>

#include <vector>

namespace rochound::capture::replay {
namespace {

using V = Verdict;

TEST(Verdict, NamesAndExitCodesStandInTheOrderOfTheEnum) {
  for (const VerdictFacts& facts : kVerdicts) {
    EXPECT_EQ(NameOf(facts.verdict), facts.name);
    EXPECT_EQ(ExitCode(facts.verdict), facts.exit_code);
  }
  EXPECT_EQ(ExitCode(V::kNotVerified), 9);
  EXPECT_EQ(ExitCode(V::kNotPossible), 10);
}

TEST(Verdict, WhatIsWrongGoesBeforeWhatCannotBeJudged) {
  const auto overall = [](const std::vector<Verdict>& verdicts) { return Overall(verdicts); };
  EXPECT_EQ(overall({V::kEqual, V::kEqual}), V::kEqual);
  EXPECT_EQ(overall({V::kEqual, V::kFault, V::kDifferent}), V::kFault);
  EXPECT_EQ(overall({V::kNotDeterministic, V::kNotDeterministic, V::kDifferent}), V::kDifferent);
  EXPECT_EQ(overall({V::kNotVerified, V::kNotVerified}), V::kNotVerified);
  EXPECT_EQ(overall({V::kNotVerified, V::kDifferent}), V::kDifferent);
  EXPECT_EQ(overall({V::kEqual, V::kNotDeterministic, V::kTimeout}), V::kTimeout);
}

}  // namespace
}  // namespace rochound::capture::replay
