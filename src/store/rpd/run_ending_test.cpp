// SPDX-License-Identifier: MIT
#include "store/rpd/run_ending.h"

#include <gtest/gtest.h>

#include "store/rpd/gpu_usage.h"

namespace rochound::store {
namespace {

std::string Told(const RunEnding& run) {
  const auto text = TellEnding(run, "trace.rpd");
  return text.has_value() ? text->sentence : "";
}

RunEnding Good() { return {.status = "exit 0", .calls = 10, .kernels = 3, .copies = 1}; }

TEST(RunEnding, NothingIsToldOfARunThatEndedWell) {
  EXPECT_EQ(Told(Good()), "");
  RunEnding run = Good();
  run.status = "";
  EXPECT_EQ(Told(run), "");
  run.kernels = 0;  // how it ended is not known, nor whether it ended
  EXPECT_EQ(Told(run), "");
}

TEST(RunEnding, SignalsAreNamed) {
  RunEnding run = Good();
  run.status = "signal 2";
  EXPECT_EQ(Told(run), "The program was stopped by SIGINT (Ctrl-C): the trace goes up to there.");
  run.status = "exit 130";  // as shells report it
  EXPECT_EQ(Told(run), "The program was stopped by SIGINT (Ctrl-C): the trace goes up to there.");
  run.status = "signal 11";
  run.open_call = "hipMemcpy";
  EXPECT_EQ(Told(run), "The program crashed: SIGSEGV in hipMemcpy.");
  run.status = "signal 64";
  EXPECT_EQ(Told(run), "The program crashed: signal 64 in hipMemcpy.");
  run.status = kKilled;
  EXPECT_EQ(Told(run), "The program was killed, and rochound with it: the trace goes up to there.");
  run.status = "exit 3";
  EXPECT_EQ(Told(run), "The program ended with exit 3.");
}

TEST(RunEnding, AFaultComesBeforeTheSignalThatItCaused) {
  RunEnding run = Good();
  run.status = "signal 6";
  run.fault = "Kernel Store wrote to 0x1000, which is no memory";
  run.evidence = "trace.rpd.fault";
  const auto text = TellEnding(run, "trace.rpd");
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(text->sentence, "A GPU failed: Kernel Store wrote to 0x1000, which is no memory.");
  EXPECT_EQ(text->advice, "See why: rochound doctor --fault 'trace.rpd.fault'.");
}

TEST(RunEnding, NoKernelRan) {
  RunEnding run = Good();
  run.kernels = 0;
  EXPECT_EQ(Told(run), "No kernel of the program ran; the GPU only copied and filled memory.");
  run.copies = 0;
  run.status = "exit 1";
  run.unfit_code = "code for gfx1030, and none for gfx942";
  EXPECT_EQ(Told(run),
            "No kernel of the program ran, and it ended with exit 1. It has code for gfx1030, and "
            "none for gfx942.");
  run.status = "signal 11";
  run.open_call = "hipLaunchKernel";
  EXPECT_EQ(
      Told(run),
      "The program crashed: SIGSEGV in hipLaunchKernel, and no kernel of the program had run. "
      "It has code for gfx1030, and none for gfx942.");
}

TEST(RunEnding, WhatIsNotRecordedMayHaveRun) {
  RunEnding run = Good();
  run.kernels = 0;
  run.complete = false;
  EXPECT_EQ(Told(run), "");
  run.status = "signal 11";
  EXPECT_EQ(Told(run), "The program crashed: SIGSEGV.");
}

TEST(RunEnding, CodeForAnotherGpuIsNoReasonWhereKernelsRan) {
  RunEnding run = Good();
  run.unfit_code = "code for gfx1030, and none for gfx942";
  EXPECT_EQ(Told(run), "");
  run.status = "signal 11";
  EXPECT_EQ(Told(run), "The program crashed: SIGSEGV.");
}

TEST(GpuUsage, SpansMayOverlapAndComeInAnyOrder) {
  CoveredTime covered;
  EXPECT_EQ(covered.ns(), 0);
  covered.Add(50, 60);
  covered.Add(0, 10);
  covered.Add(5, 20);
  covered.Add(20, 25);
  covered.Add(52, 53);
  covered.Add(70, 70);
  EXPECT_EQ(covered.ns(), 35);
  covered.Add(0, 100);
  EXPECT_EQ(covered.ns(), 100);
  for (int64_t i = 300'000; i > 0; --i) covered.Add(i * 10, i * 10 + 5);
  EXPECT_EQ(covered.ns(), 100 + (300'000 - 9) * 5);
}

TEST(GpuUsage, IsToldOfTheBusiest) {
  GpusBusy gpus;
  EXPECT_EQ(UsageSentence(gpus, 1'000'000'000), "");
  gpus[0].Add(0, 89'000'000);
  EXPECT_EQ(UsageSentence(gpus, 1'000'000'000), "GPU 0 was busy 8.9% of 1.00 s");
  gpus[1].Add(0, 500'000'000);
  EXPECT_EQ(UsageSentence(gpus, 1'000'000'000),
            "GPU 1, the busiest of 2, was busy 50.0% of 1.00 s");
}

}  // namespace
}  // namespace rochound::store
