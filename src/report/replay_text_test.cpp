// SPDX-License-Identifier: MIT
#include "report/replay_text.h"

#include <gtest/gtest.h>

namespace rochound::report {
namespace {

using nlohmann::ordered_json;

TEST(ReplayText, Times) {
  EXPECT_EQ(TimeText(12), "12 ns");
  EXPECT_EQ(TimeText(1234), "1.23 us");
  EXPECT_EQ(TimeText(1234567), "1.235 ms");
  EXPECT_EQ(TimeText(2.5e9), "2.500 s");
}

TEST(ReplayText, WhatIsWrongComesFirst) {
  const ordered_json answer = ordered_json::parse(R"json({
    "verdict": "different", "demangled": "Scale(float*)", "candidate": "b.hsaco",
    "differences": {"count": 12, "worst_relative": 0.004, "first": [
      {"address": "0x7f00", "region": 1, "argument": "data", "index": 77, "type": "float",
       "expected": "250.25", "got": "251.25"}]},
    "notes": ["something"]})json");
  EXPECT_EQ(ReplayText(answer),
            "different: Scale(float*)\n"
            "  build b.hsaco\n"
            "  12 differences, the first 1:\n"
            "    address  region  argument      index  expected  got\n"
            "    0x7f00   1       data (float)  77     250.25    251.25\n"
            "  largest relative error 0.004\n"
            "  note: something\n");
}

TEST(ReplayText, NothingOfABundleSteersTheTerminal) {
  const auto answer = nlohmann::ordered_json::parse(R"({
    "verdict": "equal", "demangled": "a\u001b[2Jb", "message": "\u009b2J", "notes": ["\u0007"]})");
  EXPECT_EQ(ReplayText(answer), "equal: a\\x1b[2Jb\n  \\x9b2J\n  note: \\x07\n");
}

TEST(ReplayText, AnAnswerWithoutAKernel) {
  EXPECT_EQ(ReplayText({{"verdict", "bad bundle"}, {"message", "it is gone"}}),
            "bad bundle\n  it is gone\n");
}

TEST(ReplayText, ComparedBuilds) {
  const ordered_json answer = ordered_json::parse(R"json({
    "verdict": "fault", "demangled": "k()", "candidates": [
      {"name": "captured", "verdict": "equal", "gpu_ns": {"median": 2000, "spread": 10}},
      {"name": "a", "verdict": "equal", "gpu_ns": {"median": 1000, "spread": 10},
       "speedup": {"ratio": 2, "low": 1.9, "high": 2.1}},
      {"name": "wrong", "verdict": "different", "gpu_ns": {"median": 100, "spread": 10},
       "speedup": {"ratio": 20, "low": 19, "high": 21}},
      {"name": "b", "verdict": "fault", "message": "it fell"}]})json");
  const std::string text = ReplayText(answer);
  EXPECT_NE(text.find("2.000 (1.900 to 2.100)"), std::string::npos) << text;
  EXPECT_NE(text.find("b: it fell"), std::string::npos) << text;
  EXPECT_EQ(text.find("20.000"), std::string::npos) << "a wrong build is not fast\n" << text;
  // The builds have verdicts of their own, so there is none for all.
  EXPECT_EQ(text.find("fault: k()"), std::string::npos) << text;
}

// What was proved stands where the verdict would, and an interpreter's times are called so.
TEST(ReplayText, ProofAndSoftwareGpu) {
  ordered_json answer = ordered_json::parse(R"json({
    "verdict": "equal", "demangled": "k()", "gpu": {"product": "MI300X", "isa": "gfx942", "software": true},
    "candidates": [
      {"name": "captured", "verdict": "equal", "proof": "equal in every byte", "gpu_ns": {"median": 2000, "spread": 10}},
      {"name": "a", "verdict": "equal", "proof": "equal within the tolerance",
       "gpu_ns": {"median": 1000, "spread": 10}, "interpreter_speedup": {"ratio": 2, "low": 1.9, "high": 2.1},
       "modelled_speedup": {"ratio": 1.25, "low": 1.25, "high": 1.25}}]})json");
  const std::string text = ReplayText(answer);
  for (const char* said :
       {"on a software MI300X", "equal in every byte\n", "equal within the tolerance\n",
        "no speed-up follows", "1.250 (1.250 to 1.250)"})
    EXPECT_NE(text.find(said), std::string::npos) << said << "\n" << text;
  EXPECT_EQ(text.find("1.900"), std::string::npos) << text;
}

}  // namespace
}  // namespace rochound::report
