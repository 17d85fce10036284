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
  launch.comparison = "equal in every byte, from the captured input";
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

TEST(DecideSpeed, BoundsAreThoseOfAllLaunches) {
  Verdict verdict;
  const LaunchEvidence launch = Launch(1000, 500, 0.5);  // 1.5 to 2.5
  DecideSpeed({launch, launch}, false, 0.02, &verdict);
  EXPECT_NEAR(verdict.speedup, 2, 1e-9);
  EXPECT_NEAR(verdict.low, 1.5, 1e-9);
  EXPECT_NEAR(verdict.high, 2.5, 1e-9);
  // Each launch counts with what it cost before.
  DecideSpeed({Launch(900, 300), Launch(100, 100)}, false, 0.02, &verdict);
  EXPECT_NEAR(verdict.speedup, 1000.0 / 400, 1e-9);
}

TEST(DecideSpeed, TheMarginCountsBothWays) {
  // 1% slower in one shape is within the margin, 3% is not; much more is gained in the other.
  EXPECT_EQ(Decide({Launch(1000, 1010), Launch(1000, 500)}), Reason::kFaster);
  EXPECT_EQ(Decide({Launch(1000, 1030), Launch(1000, 500)}), Reason::kSlowerSomewhere);
  // 2.1% is enough, and the lower bound has to reach it.
  EXPECT_EQ(Decide({Launch(1021, 1000)}), Reason::kFaster);
  EXPECT_EQ(Decide({Launch(1019, 1000)}), Reason::kNoDifference);
  EXPECT_EQ(Decide({Launch(1021, 1000, 0.005)}), Reason::kNoDifference);
}

// Both kinds of cost have a floor, whichever decides.
TEST(DecideSpeed, TheModelsFloorCountsOnAGpu) {
  LaunchEvidence launch = Launch(1000, 10, 0, 11);
  launch.seconds = Measurement{1e-3, 0.5e-3, 2, 1.9, 2.1, 0};
  EXPECT_EQ(Decide({launch}, true), Reason::kBelowFloor);
}

TEST(DecideSpeed, RefusesWhatWasNotMeasured) {
  LaunchEvidence without = Launch(1000, 500);
  without.model->low = 0;
  EXPECT_EQ(Decide({without}), Reason::kCannotJudge);
  EXPECT_EQ(Decide({Launch(1000, 500), LaunchEvidence{}}), Reason::kCannotJudge);
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

TEST(Verdict, TextHasTheFiguresOfBothBuilds) {
  Verdict verdict;
  LaunchEvidence launch = Launch(1000, 2000);
  launch.seconds = Measurement{2e-3, 4e-3, 0.5, 0.45, 0.55, 1e-6};
  verdict.launches = {launch};
  verdict.original = verdict.resources = Resources{};
  verdict.original->vgprs = 11;
  verdict.resources->vgprs = 22;
  const Rejection decided = DecideSpeed(verdict.launches, true, 0.02, &verdict);
  verdict.reason = decided.reason;
  verdict.message = decided.message;
  const std::string text = VerdictText(verdict);
  const auto has = [&](const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
  };
  has("2.00 times slower by GPU time (0.500, between 0.450 and 0.550) over 1 launch");
  has("GPU time 2000.00 us before, 4000.00 us after: 0.500 (0.450 to 0.550)");
  has("no right candidate takes less than 1.00 us");
  has("; accesses were not checked");
  has("  vector registers                  11          22\n");
  EXPECT_EQ(text.find("no measurement of silicon"), std::string::npos);
  EXPECT_FALSE(VerdictJson(verdict).contains("note"));
  verdict.launches[0].accesses_checked = true;
  EXPECT_NE(VerdictText(verdict).find("; every access is within its memory"), std::string::npos);
}

TEST(Verdict, JsonHasTheReasonOfTheLaunchThatWasRejected) {
  Verdict verdict;
  verdict.reason = Reason::kCannotJudge;
  verdict.launches = {Launch(1000, 500), Launch(1000, 500)};
  verdict.launches[1].rejection = Rejection{Reason::kDifferent, "1 element differs"};
  const auto json = VerdictJson(verdict);
  EXPECT_FALSE(json["launches"][0].contains("reason"));
  EXPECT_EQ(json["launches"][0]["comparison"], "equal in every byte, from the captured input");
  EXPECT_EQ(json["launches"][1]["reason"], NameOf(Reason::kDifferent));
  EXPECT_EQ(json["launches"][1]["message"], "1 element differs");
  EXPECT_NE(VerdictText(verdict).find("rejected here"), std::string::npos);
}

TEST(ExitCodeOf, TellsWrongFromNotFasterAndNotKnown) {
  EXPECT_EQ(ExitCodeOf(Reason::kFaster), 0);
  EXPECT_EQ(ExitCodeOf(Reason::kDifferent), 1);
  for (const Reason reason : {Reason::kNoDifference, Reason::kSlower, Reason::kSlowerSomewhere})
    EXPECT_EQ(ExitCodeOf(reason), 3) << NameOf(reason);
  for (const Reason reason : {Reason::kLowOccupancy, Reason::kNotVerified, Reason::kCannotJudge})
    EXPECT_EQ(ExitCodeOf(reason), 4) << NameOf(reason);
}

TEST(Occupancy, OfLessThanAQuarterOfTheBestOnesIsNotMeasured) {
  Resources best, one;
  best.waves = best.slots = one.slots = 16;
  one.limited_by = "LDS";
  one.waves = 4;
  EXPECT_FALSE(OccupancyTooLow(one, std::nullopt));
  EXPECT_FALSE(OccupancyTooLow(one, best));
  one.waves = 3;
  const auto low = OccupancyTooLow(one, best);
  ASSERT_TRUE(low);
  EXPECT_EQ(low->reason, Reason::kLowOccupancy);
  EXPECT_EQ(low->message,
            "not measured: 3 of 16 waves per SIMD, limited by LDS; the best so far has 16 of 16");
  best.waves = 8;  // then it is good enough
  EXPECT_FALSE(OccupancyTooLow(one, best));
  // Shares are compared: 3 of 8 is more than 3 of 16, and 16 of 16 is all there is.
  best.waves = 16;
  one.slots = 8;
  EXPECT_FALSE(OccupancyTooLow(one, best));
  one.slots = 0;  // nothing is known about this GPU
  EXPECT_FALSE(OccupancyTooLow(one, best));
}

TEST(Occupancy, OfNoneIsALimit) {
  Resources original, one;
  original.slots = one.slots = 8;
  original.workgroups = one.workgroups = 2;
  EXPECT_FALSE(DoesNotFit(one, original));
  one.workgroups = 0;
  ASSERT_TRUE(DoesNotFit(one, original));
  EXPECT_EQ(DoesNotFit(one, original)->reason, Reason::kLimits);
  original.workgroups = 0;  // the table is wrong about this GPU: the captured one did run
  EXPECT_FALSE(DoesNotFit(one, original));
}

TEST(Verdict, ResourcesAreReadFromWhatWasWritten) {
  Verdict verdict;
  EXPECT_FALSE(ResourcesIn(VerdictJson(verdict)));
  verdict.resources = Resources{};
  verdict.resources->waves = 5;
  verdict.resources->slots = 16;
  verdict.resources->limited_by = "VGPRs";
  const auto read = ResourcesIn(VerdictJson(verdict));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->waves, 5u);
  EXPECT_EQ(read->slots, 16u);
  EXPECT_EQ(read->limited_by, "VGPRs");
}

TEST(Verdict, OfLaunchesThatWereHeldOutSaysSoWhereItIsWrong) {
  Verdict verdict;
  verdict.reason = Reason::kDifferent;
  verdict.message = "2.bundle: 1 element differs";
  const Verdict wrong = OfHeldOut(verdict);
  EXPECT_EQ(wrong.reason, Reason::kHeldOut);
  EXPECT_EQ(wrong.message,
            "in a launch that the search did not see, its results are different: 2.bundle: 1 "
            "element differs");
  for (const Reason reason : {Reason::kFaster, Reason::kNoDifference, Reason::kSlower,
                              Reason::kSlowerSomewhere, Reason::kCannotJudge}) {
    verdict.reason = reason;
    EXPECT_EQ(OfHeldOut(verdict).reason, reason);
  }
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
