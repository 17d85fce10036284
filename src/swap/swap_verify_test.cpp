// SPDX-License-Identifier: MIT
#include "swap/swap_verify.h"

#include <gtest/gtest.h>

namespace rochound::swap {
namespace {

using nlohmann::ordered_json;

// As rochound-replay answers, with these verdicts of the original and of the candidate.
ordered_json Answer(const char* original, const char* candidate, const char* message = "") {
  return {{"verdict", candidate},
          {"candidates",
           {{{"name", "captured"}, {"verdict", original}},
            {{"name", "new.hsaco"}, {"verdict", candidate}, {"message", message}}}}};
}

std::string Judged(const ordered_json& answer) {
  const store::SwapComparison comparison = JudgeSwap(answer);
  return comparison.result + "|" + comparison.reason;
}

TEST(SwapVerifyTest, TheCandidateIsJudgedOnlyIfTheOriginalCanBe) {
  EXPECT_EQ(Judged(Answer("equal", "equal")), "equal|");
  EXPECT_EQ(Judged(Answer("equal", "different", "it writes less")), "different|it writes less");
  EXPECT_EQ(Judged(Answer("not verified", "not verified", "it writes nothing")),
            "not verified|it writes nothing");
  EXPECT_EQ(Judged(Answer("equal", "refused", "other arguments")), "not verified|other arguments");
  EXPECT_TRUE(Judged(Answer("different", "different")).starts_with("not verified|run again"));
  EXPECT_EQ(Judged(Answer("not deterministic", "not deterministic", "within")),
            "not verified|within");
  EXPECT_EQ(Judged(Answer("not deterministic", "different", "outside")), "different|outside");
  EXPECT_TRUE(Judged(Answer("equal", "not deterministic", "varies")).starts_with("different|"));
}

TEST(SwapVerifyTest, TheFirstDifferenceIsNamed) {
  ordered_json answer = Answer("equal", "different");
  answer["candidates"][1]["differences"] = {{"count", 2},
                                            {"first",
                                             {{{"address", "0x7000"},
                                               {"argument", "out"},
                                               {"index", 7},
                                               {"type", "float"},
                                               {"expected", "1"},
                                               {"got", "2"}}}}};
  EXPECT_EQ(Judged(answer),
            "different|2 elements differ; the first is out[7] (float): 2 instead of 1");
}

TEST(SwapVerifyTest, OnlyAFaultOfTheCandidateSpeaksAgainstIt) {
  const ordered_json fault = {{"verdict", "fault"},
                              {"candidate", "new.hsaco"},
                              {"message", "page not present at 0x10"},
                              {"fault", {{"reason", "page not present"}}}};
  EXPECT_EQ(Judged(fault),
            "different|it fails, where the original does not: page not present at 0x10");
  ordered_json left_out = fault;
  left_out["fault"]["left_out"] = 3;  // not captured, so it would not be there for the original
  EXPECT_EQ(Judged(left_out), "not verified|page not present at 0x10");
  ordered_json captured = fault;
  captured["candidate"] = "captured";
  EXPECT_EQ(Judged(captured), "not verified|page not present at 0x10");
  ordered_json killed = fault;
  killed.erase("fault");  // the process ended without a word
  EXPECT_EQ(Judged(killed), "not verified|page not present at 0x10");
  EXPECT_EQ(Judged({{"verdict", "cannot map"}, {"message", "taken"}}), "not verified|taken");
  EXPECT_EQ(Judged({{"verdict", "failed"}}), "not verified|nobody said why");
}

}  // namespace
}  // namespace rochound::swap
