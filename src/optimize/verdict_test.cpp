// SPDX-License-Identifier: MIT
#include "optimize/verdict.h"

#include <gtest/gtest.h>

#include <set>

namespace rochound::optimize {
namespace {

LaunchEvidence Launch(double original, double candidate, double spread = 0, double floor = 0) {
  LaunchEvidence launch;
  launch.bundle = "a.bundle";
  launch.shape = "grid 64x1x1";
  launch.comparison = "equal, every byte";
  const double ratio = original / candidate;
  launch.model = Measurement{original, candidate, ratio, ratio - spread, ratio + spread, floor};
  return launch;
}

Reason Decide(const std::vector<LaunchEvidence>& launches, bool on_gpu = false) {
  Verdict verdict;
  return DecideSpeed(launches, on_gpu, 0.02, &verdict).reason;
}

TEST(DecideSpeed, WantsTheMarginWithConfidence) {
  EXPECT_EQ(Decide({Launch(1000, 900)}), Reason::kFaster);
  EXPECT_EQ(Decide({Launch(1000, 1000)}), Reason::kNoDifference);
  EXPECT_EQ(Decide({Launch(1000, 990)}), Reason::kNoDifference);
  EXPECT_EQ(Decide({Launch(1000, 900, 0.2)}), Reason::kNoDifference);  // it may be chance
  EXPECT_EQ(Decide({Launch(1000, 1100)}), Reason::kSlower);
  EXPECT_EQ(Decide({Launch(1000, 1100, 0.2)}), Reason::kNoDifference);
}

TEST(DecideSpeed, AddsUpLaunchesAndLooksAtEach) {
  Verdict verdict;
  EXPECT_EQ(DecideSpeed({Launch(100, 100), Launch(1000, 450)}, false, 0.02, &verdict).reason,
            Reason::kFaster);
  EXPECT_NEAR(verdict.speedup, 2, 1e-9);
  // Much faster for one shape does not make good for another one.
  EXPECT_EQ(Decide({Launch(100, 200), Launch(10000, 100)}), Reason::kSlowerSomewhere);
}

TEST(DecideSpeed, RefusesWhatCannotBe) {
  EXPECT_EQ(Decide({Launch(1000, 10, 0, 10)}), Reason::kFaster);
  const LaunchEvidence launch = Launch(1000, 10, 0, 11);
  EXPECT_EQ(Decide({launch}), Reason::kBelowFloor);
  // Any launch's floor, before anything is added up.
  EXPECT_EQ(Decide({Launch(1000, 500), launch}), Reason::kBelowFloor);

  LaunchEvidence timed = Launch(1000, 500);
  timed.seconds = Measurement{1e-3, 1e-6, 1000, 990, 1010, 2e-6};
  EXPECT_EQ(Decide({timed}, true), Reason::kBelowFloor);
  timed.seconds->floor = 0.5e-6;
  EXPECT_EQ(Decide({timed}, true), Reason::kFaster);
}

TEST(DecideSpeed, RefusesWhatWasNotMeasured) {
  EXPECT_EQ(Decide({}), Reason::kCannotJudge);
  EXPECT_EQ(Decide({Launch(1000, 500)}, true), Reason::kCannotJudge);
  EXPECT_EQ(Decide({Launch(1000, 0)}), Reason::kCannotJudge);
}

TEST(Verdict, SaysTheAnswerFirstAndThatItIsAModel) {
  Verdict verdict;
  verdict.demangled = "scale\x1b[2J";
  verdict.launches = {Launch(1000, 500)};
  Rejection decided = DecideSpeed(verdict.launches, false, 0.02, &verdict);
  verdict.reason = decided.reason;
  verdict.message = decided.message;
  const std::string text = VerdictText(verdict);
  EXPECT_TRUE(text.starts_with("accepted: 2.00 times faster by modelled cycles")) << text;
  EXPECT_NE(text.find("no measurement of silicon"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const auto json = VerdictJson(verdict);
  EXPECT_EQ(json["verdict"], "accepted");
  EXPECT_EQ(json["reason"], "faster");
  EXPECT_EQ(json["launches"][0]["modelled_cycles"]["candidate"], 500);
}

TEST(Reasons, StandWhereTheyAreLookedUpAndHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const ReasonText& text : kReasons) {
    EXPECT_EQ(NameOf(text.reason), text.name);
    EXPECT_TRUE(names.insert(text.name).second) << text.name;
    EXPECT_EQ(ExitCodeOf(text.reason) == 0, text.reason == Reason::kFaster);
  }
}

}  // namespace
}  // namespace rochound::optimize
