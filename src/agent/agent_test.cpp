// SPDX-License-Identifier: MIT
//
// Dispatches and their times: rare orders of events, made to happen.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "agent/agent_testing.h"
#include "agent/fake_runtime.h"
#include "agent/faults.h"
#include "agent/queues.h"
#include "agent/session.h"
#include "base/clock.h"
#include "base/files.h"
#include "trace/reader.h"

namespace rochound::agent {
namespace {

TEST_F(AgentTest, EveryDispatchOfABatchIsRecordedWithItsTimes) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(4096);
  FakeQueue& fake = FakeRuntime::Of(queue);
  for (int batch = 0; batch < 20; ++batch) {
    const uint64_t first = fake.Reserve(1000);
    for (uint64_t i = 0; i < 1000; ++i) fake.Write(first + i, 64, {0});
    runtime_.Ring(queue, first + 999);
    ASSERT_TRUE(fake.WaitUntilConsumed(first + 1000));
  }
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 20000u);
  EXPECT_EQ(seen.Timed(), 20000u);
}

// The fake queue, as a GPU, keeps no times unless it is told to.
TEST_F(AgentTest, TimesAreSwitchedOnAndAProgramDoesNotSwitchThemOff) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  const auto switch_off = [&] {
    EXPECT_EQ(runtime_.amd().hsa_amd_profiling_set_profiler_enabled_fn(queue, 0),
              HSA_STATUS_SUCCESS);
  };
  Launch(queue);
  EXPECT_EQ(Read().Timed(), 1u);
  switch_off();
  Launch(queue);
  EXPECT_EQ(Read().Timed(), 2u);
  SwitchFromOutside(false);
  switch_off();
  SwitchFromOutside(true);
  Launch(queue);
  EXPECT_EQ(Read().Timed(), 3u);
}

// Without the agent, a program has the times that it asked for, and no others.
TEST_F(AgentTest, TheFakeQueueKeepsTimesWhereItIsTold) {
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  const auto* const memory = reinterpret_cast<const amd_signal_t*>(signal.handle);
  const auto run = [&](uint64_t so_far) {
    Launch(queue, signal);
    ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(so_far));
    while (__atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
    runtime_.core().hsa_signal_store_screlease_fn(signal, 1);
  };
  run(1);
  EXPECT_EQ(memory->end_ts, 0u);
  runtime_.amd().hsa_amd_profiling_set_profiler_enabled_fn(queue, 1);
  run(2);
  EXPECT_NE(memory->end_ts, 0u);
  runtime_.core().hsa_signal_destroy_fn(signal);
}

// Of a later release than ours: which they are is not known, but that they were there is.
TEST_F(AgentTest, PacketsOfUnknownKindsAreCounted) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const auto put = [&](uint16_t type, uint8_t format) {
    const uint64_t index = fake.Reserve();
    hsa_kernel_dispatch_packet_t* const packet = fake.Packet(index);
    packet->completion_signal = {0};
    packet->setup = format;
    __atomic_store_n(&packet->header, type, __ATOMIC_RELEASE);
    runtime_.Ring(queue, index);
  };
  for (int i = 0; i < 3; ++i) put(HSA_PACKET_TYPE_VENDOR_SPECIFIC, 7);
  put(HSA_PACKET_TYPE_VENDOR_SPECIFIC, HSA_AMD_PACKET_TYPE_BARRIER_VALUE);
  put(HSA_PACKET_TYPE_BARRIER_AND, 0);
  put(HSA_PACKET_TYPE_BARRIER_OR, 0);
  put(HSA_PACKET_TYPE_AGENT_DISPATCH, 0);
  put(9, 0);
  Launch(queue);
  EXPECT_EQ(Read().dispatches.size(), 1u);
  const auto run = trace::RunLog::Open(log_);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.value().processes().front()->Info("new_packets"), "type 9:1,vendor format 7:3");
}

// By a function of a later release: the first ring tells of the queue.
TEST_F(AgentTest, AQueueThatWasCreatedInAnUnknownWayIsFollowed) {
  Load();
  hsa_queue_t* queue = FakeRuntime::CreateQueueElsewhere(64, /*tells=*/true);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t first = fake.Reserve(3);
  for (uint64_t i = 0; i < 3; ++i) fake.Write(first + i, 64, {0});
  runtime_.Ring(queue, first + 2);
  for (int i = 0; i < 4; ++i) Launch(queue);
  ASSERT_TRUE(fake.WaitUntilConsumed(7));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 7u);
  EXPECT_EQ(seen.Timed(), 7u);
}

// What was submitted before we knew of the queue is not ours to look at.
TEST_F(AgentTest, AQueueThatIsFollowedLateIsFollowedFromThere) {
  Load();
  hsa_queue_t* queue = FakeRuntime::CreateQueueElsewhere(64, /*tells=*/true);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t kernel = runtime_.KernelObject(1);
  const uint64_t theirs = fake.Reserve(5);
  for (uint64_t i = 0; i < 5; ++i) fake.Write(theirs + i, kernel, {0});
  fake.doorbell = theirs + 5;
  ASSERT_TRUE(fake.WaitUntilConsumed(5));
  const uint64_t ours = Launch(queue, {0}, kernel);
  ASSERT_TRUE(fake.WaitUntilConsumed(6));
  const Seen seen = Read();
  ASSERT_EQ(seen.dispatches.size(), 1u);
  EXPECT_EQ(trace::PacketOf(seen.dispatches.begin()->first), ours);
  EXPECT_EQ(Lost(trace::DropReason::kNotSeen), 0u);
}

TEST_F(AgentTest, AQueueThatCannotBeFollowedIsToldOf) {
  Load();
  hsa_queue_t* queue = FakeRuntime::CreateQueueElsewhere(64, /*tells=*/false);
  for (int i = 0; i < 4; ++i) Launch(queue);
  ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(4));
  EXPECT_EQ(Read().dispatches.size(), 0u);
  const auto run = trace::RunLog::Open(log_);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.value().processes().front()->Info("unknown_doorbells"), "4");
}

TEST_F(AgentTest, TheProgramsSignalStaysInItsPacket) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.Hold();
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  const uint64_t index = Launch(queue, signal);
  EXPECT_EQ(fake.Packet(index)->completion_signal.handle, signal.handle);
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(1));
  EXPECT_EQ(Read().Timed(), 1u);
  runtime_.core().hsa_signal_destroy_fn(signal);
}

// HIP resets a signal of its pool the moment it has seen it fire.
TEST_F(AgentTest, ASignalThatIsReusedAtOnceLosesNoTimes) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  for (uint64_t i = 0; i < 400; ++i) {
    Launch(queue, signal);
    auto* memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    while (__atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
    runtime_.core().hsa_signal_silent_store_relaxed_fn(signal, 1);
  }
  ASSERT_TRUE(fake.WaitUntilConsumed(400));
  runtime_.core().hsa_signal_destroy_fn(signal);
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 400u);
  EXPECT_EQ(seen.Timed(), 400u);
}

TEST_F(AgentTest, ASignalMayBeDestroyedTheMomentItFires) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  for (int i = 0; i < 300; ++i) {
    const hsa_signal_t signal = runtime_.CreateSignal(1);
    Launch(queue, signal);
    auto* memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    while (__atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
    runtime_.core().hsa_signal_destroy_fn(signal);
  }
  EXPECT_EQ(Read().Timed(), 300u);
}

TEST_F(AgentTest, OfSeveralDispatchesOnOneCountingSignalTheLastHasTimes) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.Hold();
  const hsa_signal_t signal = runtime_.CreateSignal(3);
  for (int i = 0; i < 3; ++i) Launch(queue, signal);
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(3));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 3u);
  EXPECT_EQ(seen.times.size(), 3u);
  EXPECT_GE(seen.Timed(), 1u);
  runtime_.core().hsa_signal_destroy_fn(signal);
}

TEST_F(AgentTest, ADoorbellAheadOfALatePacketWaitsForIt) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t late = fake.Reserve();
  const uint64_t early = fake.Reserve();
  fake.Write(early, 64, {0});
  runtime_.Ring(queue, early);
  fake.Write(late, 64, {0});
  runtime_.Ring(queue, late);
  ASSERT_TRUE(fake.WaitUntilConsumed(2));
  EXPECT_EQ(Read().Timed(), 2u);
}

// Whoever rang is gone; the drain thread has to find the packet.
TEST_F(AgentTest, ALatePacketThatNobodyRingsForIsNotStuck) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t late = fake.Reserve();
  const uint64_t early = fake.Reserve();
  fake.Write(early, 64, {0});
  runtime_.Ring(queue, early);
  fake.Write(late, 64, {0});
  ASSERT_TRUE(fake.WaitUntilConsumed(2));
}

// There is always some packet missing, but none for long.
TEST_F(AgentTest, PacketsThatAreLateOneAfterAnotherAreAllRecorded) {
  constexpr uint64_t kLongNs = 300'000'000;
  constexpr uint64_t kSurelyInTimeNs = 40'000'000;
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const auto launch = [&](uint64_t index) {
    fake.Write(index, 64, {0});
    runtime_.Ring(queue, index);
  };
  // A machine that keeps a packet missing for too long shows nothing, so it is asked again.
  uint64_t lost_before = 0;
  uint64_t lost = 0;
  bool in_time = false;
  for (int attempt = 0; attempt < 20 && !in_time; ++attempt) {
    lost_before = Lost(trace::DropReason::kNotSeen);
    in_time = true;
    uint64_t late = fake.Reserve(2);
    launch(late + 1);
    uint64_t since_ns = base::ClockNs(CLOCK_MONOTONIC);
    const uint64_t end_ns = since_ns + kLongNs;
    while (base::ClockNs(CLOCK_MONOTONIC) < end_ns) {
      usleep(1000);
      const uint64_t next = fake.Reserve(2);
      launch(next + 1);
      launch(late);
      late = next;
      const uint64_t now_ns = base::ClockNs(CLOCK_MONOTONIC);
      in_time = in_time && now_ns - since_ns < kSurelyInTimeNs;
      since_ns = now_ns;
    }
    launch(late);
    ASSERT_TRUE(fake.WaitUntilConsumed(late + 2));
    lost = Lost(trace::DropReason::kNotSeen) - lost_before;
  }
  EXPECT_TRUE(in_time);
  EXPECT_EQ(lost, 0u);
  EXPECT_GE(Read().Timed() + lost_before, fake.consumed());
}

TEST_F(AgentTest, APacketThatStaysMissingIsCounted) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t missing = fake.Reserve(2);
  fake.Write(missing + 1, 64, {0});
  runtime_.Ring(queue, missing + 1);
  for (int i = 0; i < 2000 && fake.doorbell < missing + 2; ++i) usleep(10'000);
  EXPECT_EQ(fake.doorbell.load(), missing + 2);
  fake.Write(missing, 64, {0});
  ASSERT_TRUE(fake.WaitUntilConsumed(missing + 2));
  EXPECT_EQ(Lost(trace::DropReason::kNotSeen), 1u);
  EXPECT_EQ(Read().Timed(), 1u);
}

// What was held back while recording is rung for by the next one who rings, recorded or not.
TEST_F(AgentTest, ADoorbellThatWasHeldBackIsNotLostWhenRecordingStops) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t late = fake.Reserve();
  const uint64_t middle = fake.Reserve();
  const uint64_t early = fake.Reserve();
  fake.Write(early, 64, {0});
  runtime_.Ring(queue, early);
  SwitchFromOutside(false);
  fake.Write(middle, 64, {0});
  fake.Write(late, 64, {0});
  runtime_.Ring(queue, late);
  ASSERT_TRUE(fake.WaitUntilConsumed(3));
}

// The runtime's own packets on a program's queue do not come through the table.
TEST_F(AgentTest, APacketThatTheRuntimeRangForIsSteppedOver) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t theirs = fake.Reserve();
  fake.Write(theirs, 64, {0});
  fake.doorbell = theirs + 1;
  ASSERT_TRUE(fake.WaitUntilConsumed(1));
  Launch(queue);
  ASSERT_TRUE(fake.WaitUntilConsumed(2));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 1u) << "what was in the other packet is not known";
  EXPECT_EQ(seen.Timed(), 1u);
}

TEST_F(AgentTest, ManyProducersOnOneQueue) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(1024);
  FakeQueue& fake = FakeRuntime::Of(queue);
  constexpr uint64_t kEach = 3000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kEach; ++i) {
        const uint64_t index = fake.Reserve();
        while (index - fake.consumed() >= 1024) std::this_thread::yield();
        fake.Write(index, 64, {0});
        runtime_.Ring(queue, index);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(fake.WaitUntilConsumed(4 * kEach));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 4 * kEach);
  EXPECT_EQ(seen.Timed(), 4 * kEach);
}

// The packet that another thread rang for is rung for by the thread that wrote the missing one, not
// some time later by a thread of ours.
TEST_F(AgentTest, AMissingPacketsDoorbellIsAlsoThatOfThoseBehindIt) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  for (int i = 0; i < 200; ++i) {
    const uint64_t late = fake.Reserve();
    const uint64_t early = fake.Reserve();
    fake.Write(early, 64, {0});
    runtime_.Ring(queue, early);
    fake.Write(late, 64, {0});
    runtime_.Ring(queue, late);
    ASSERT_EQ(fake.doorbell.load(), early + 1);
    ASSERT_TRUE(fake.WaitUntilConsumed(early + 1));
  }
}

// A program that fills its ring once, and later writes only headers.
class FilledRing : public AgentTest {
 protected:
  void Fill() {
    Load();
    queue_ = runtime_.CreateQueue(kPackets);
    fake_ = &FakeRuntime::Of(queue_);
    for (uint64_t i = 0; i < kPackets; ++i) {
      fake_->Write(i, 64, {0});
      SetHeader(i, HSA_PACKET_TYPE_INVALID);
    }
  }

  // Goes once around the ring, one kernel after the other, and notes when each ran.
  void GoAround(bool recorded) {
    for (uint64_t i = 0; i < kPackets; ++i) {
      const uint64_t before = base::ClockNs(CLOCK_BOOTTIME) / kTickNs;
      const uint64_t index = fake_->Reserve();
      SetHeader(index, HSA_PACKET_TYPE_KERNEL_DISPATCH);
      runtime_.Ring(queue_, index);
      ASSERT_TRUE(fake_->WaitUntilConsumed(index + 1));
      const uint64_t after = base::ClockNs(CLOCK_BOOTTIME) / kTickNs;
      if (recorded) ran_[trace::DispatchNumber(1, index)] = {before, after};
    }
  }

  // Kernels that use the signals after the others.
  void LaunchElsewhere() {
    hsa_queue_t* const queue = runtime_.CreateQueue(kPackets);
    for (uint64_t i = 0; i < 4 * kPackets; ++i) {
      const uint64_t before = base::ClockNs(CLOCK_BOOTTIME) / kTickNs;
      const uint64_t index = Launch(queue);
      ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(index + 1));
      const uint64_t after = base::ClockNs(CLOCK_BOOTTIME) / kTickNs;
      ran_[trace::DispatchNumber(2, index)] = {before, after};
    }
  }

  void ExpectTimes() {
    const Seen seen = Read();
    EXPECT_EQ(seen.dispatches.size(), ran_.size());
    EXPECT_EQ(seen.Timed(), ran_.size());
    for (const auto& [dispatch, time] : seen.times) {
      EXPECT_GE(time.begin_ticks, ran_[dispatch].begin_ticks) << dispatch;
      EXPECT_LE(time.begin_ticks, ran_[dispatch].end_ticks) << dispatch;
      EXPECT_EQ(time.end_ticks - time.begin_ticks, kKernelTicks) << dispatch;
    }
  }

  void SetHeader(uint64_t index, uint16_t type) {
    __atomic_store_n(&fake_->Packet(index)->header, type, __ATOMIC_RELEASE);
  }

  static constexpr uint64_t kPackets = 64;
  static constexpr uint64_t kTickNs = 10;
  static constexpr uint64_t kKernelTicks = 5;  // that each of the fake GPU's takes
  hsa_queue_t* queue_ = nullptr;
  FakeQueue* fake_ = nullptr;
  std::map<uint64_t, Seen::Times> ran_;
};

TEST_F(FilledRing, EachKernelHasItsOwnTimes) {
  Fill();
  for (int round = 0; round < 2; ++round) GoAround(true);
  LaunchElsewhere();
  ExpectTimes();
}

TEST_F(FilledRing, KernelsThatAreNotRecordedLeaveNoTimes) {
  Fill();
  GoAround(true);
  SwitchFromOutside(false);
  GoAround(false);
  SwitchFromOutside(true);
  LaunchElsewhere();
  ExpectTimes();
}

// The program rings for one packet more than there is; its place is that of the oldest.
TEST_F(AgentTest, ADoorbellPastAFullRingFindsNoPacketTwice) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t kernel = runtime_.KernelObject(1);
  fake.Hold();
  for (int i = 0; i < 64; ++i) Launch(queue, {0}, kernel);
  runtime_.Ring(queue, 64);
  EXPECT_EQ(Read().dispatches.size(), 64u);
  for (int i = 0; i < 2000 && fake.doorbell < 65; ++i) usleep(10'000);
  EXPECT_EQ(fake.doorbell.load(), 65u);
  EXPECT_EQ(Lost(trace::DropReason::kNotSeen), 0u) << "there was no room for it";
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(64));
  for (int i = 0; i < 10; ++i) Launch(queue, {0}, kernel);
  ASSERT_TRUE(fake.WaitUntilConsumed(74));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 74u);
  EXPECT_GE(seen.Timed(), 73u) << "the GPU may take the one that was rung for before we see it";
}

TEST_F(AgentTest, PacketsThatWereRungForPastUsAreNotTakenForLaterOnes) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t theirs = fake.Reserve(60);
  for (uint64_t i = 0; i < 60; ++i) fake.Write(theirs + i, 64, {0});
  fake.doorbell = 60;
  ASSERT_TRUE(fake.WaitUntilConsumed(60));
  fake.Hold();
  const uint64_t first = fake.Reserve(64);
  for (uint64_t i = 0; i < 64; ++i) fake.Write(first + i, 64, {0});
  runtime_.Ring(queue, first + 63);
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(124));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 64u);
  EXPECT_EQ(seen.Timed(), 64u);
  EXPECT_EQ(Lost(trace::DropReason::kNotSeen), 60u);
}

// Completions that get lost: the kernels after them keep their times, and nothing is in flight for
// ever once a kernel with a barrier has ended.
TEST_F(AgentTest, LostCompletionsDoNotHideLaterKernels) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  constexpr uint64_t kLost = 100;
  for (uint64_t i = 0; i < kLost; ++i) {
    fake.LoseCompletionOf(fake.write_);
    Launch(queue);
    ASSERT_TRUE(fake.WaitUntilConsumed(i + 1));
  }
  for (uint64_t i = 0; i < 1000; ++i) {
    Launch(queue);
    ASSERT_TRUE(fake.WaitUntilConsumed(kLost + i + 1));
  }
  const uint64_t barrier = fake.Reserve();
  fake.Write(barrier, 64, {0}, true);
  runtime_.Ring(queue, barrier);
  ASSERT_TRUE(fake.WaitUntilConsumed(barrier + 1));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), kLost + 1001);
  EXPECT_EQ(seen.times.size(), kLost + 1001);
  EXPECT_EQ(seen.Timed(), 1001u);
  OnUnload();
  EXPECT_EQ(FakeRuntime::live_signals.load(), 0);
}

TEST_F(AgentTest, ASignalThatIsAddedToLosesNoTimes) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  for (uint64_t i = 0; i < 400; ++i) {
    Launch(queue, signal);
    auto* memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    while (__atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
    runtime_.core().hsa_signal_add_screlease_fn(signal, 1);
  }
  runtime_.core().hsa_signal_destroy_fn(signal);
  EXPECT_EQ(Read().Timed(), 400u);
}

// The kernel ends after our look at the signal and before its value is replaced.
class ReplacedSignal : public AgentTest {
 protected:
  // Launches kernels one after the other; `replace` waits for each and makes the signal ready again.
  template <typename Replace>
  void LaunchAll(Replace replace) {
    Load();
    hsa_queue_t* queue = runtime_.CreateQueue(64);
    fake = &FakeRuntime::Of(queue);
    signal = runtime_.CreateSignal(1);
    std::map<uint64_t, uint64_t> ends;
    for (int i = 0; i < 20; ++i) {
      fake->Hold();
      const uint64_t index = Launch(queue, signal);
      FakeRuntime::interruption = [] {
        fake->Go();
        while (__atomic_load_n(&Memory()->value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
      };
      replace(signal);
      ends[trace::DispatchNumber(1, index)] = Memory()->end_ts;
    }
    runtime_.core().hsa_signal_destroy_fn(signal);
    const Seen seen = Read();
    EXPECT_EQ(seen.times.size(), ends.size());
    for (const auto& [dispatch, time] : seen.times)
      EXPECT_EQ(time.end_ticks, ends[dispatch]) << dispatch;
  }

  static amd_signal_t* Memory() { return reinterpret_cast<amd_signal_t*>(signal.handle); }

  inline static FakeQueue* fake = nullptr;
  inline static hsa_signal_t signal{};
};

TEST_F(ReplacedSignal, ByCompareAndSwapLosesNoTimes) {
  LaunchAll([&](hsa_signal_t one) {
    EXPECT_EQ(runtime_.core().hsa_signal_cas_scacq_screl_fn(one, 0, 1), 0);
  });
}

TEST_F(ReplacedSignal, ByExchangeLosesNoTimes) {
  LaunchAll([&](hsa_signal_t one) {
    EXPECT_EQ(runtime_.core().hsa_signal_exchange_scacq_screl_fn(one, 1), 0);
  });
}

// A compare-and-swap that fails leaves the kernel to be timed.
TEST_F(ReplacedSignal, ByACompareThatFailsIsNotReplaced) {
  LaunchAll([&](hsa_signal_t one) {
    const auto handler = std::exchange(FakeRuntime::interruption, nullptr);
    EXPECT_EQ(runtime_.core().hsa_signal_cas_scacq_screl_fn(one, 0, 1), 1);
    FakeRuntime::interruption = handler;
    EXPECT_EQ(runtime_.core().hsa_signal_cas_scacq_screl_fn(one, 0, 1), 0);
  });
}

// A program that counts its work: both kernels are in flight when it has added for the second.
TEST_F(AgentTest, ASignalThatIsAddedToWhileItCountsIsFollowed) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const hsa_signal_t signal = runtime_.CreateSignal(0);
  for (uint64_t round = 0; round < 50; ++round) {
    fake.Hold();
    for (int i = 0; i < 2; ++i) {
      runtime_.core().hsa_signal_add_screlease_fn(signal, 1);
      Launch(queue, signal);
    }
    fake.Go();
    ASSERT_TRUE(fake.WaitUntilConsumed(round * 2 + 2));
    auto* memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    while (__atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
  }
  const Seen seen = Read();
  EXPECT_EQ(seen.times.size(), 100u) << "none waits for a value that never comes";
  EXPECT_GE(seen.Timed(), 50u) << "each second one left its times in the signal";
  runtime_.core().hsa_signal_destroy_fn(signal);
}

// The program gives up on a kernel whose completion was lost, and uses the signal for the next.
TEST_F(AgentTest, ALostCompletionDoesNotGiveTheNextKernelsTimesToTheLast) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  constexpr uint64_t kRounds = 60;
  uint64_t lost = 0;
  for (uint64_t i = 0; i < kRounds; ++i) {
    const bool loses = i % 5 == 2;
    lost += loses;
    if (loses) fake.LoseCompletionOf(i);
    Launch(queue, signal);
    ASSERT_TRUE(fake.WaitUntilConsumed(i + 1));
    auto* memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    while (!loses && __atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0)
      std::this_thread::yield();
    runtime_.core().hsa_signal_store_screlease_fn(signal, 1);
  }
  const Seen seen = Read();
  EXPECT_EQ(seen.times.size(), kRounds);
  EXPECT_EQ(seen.Timed(), kRounds - lost);
  for (const auto& [dispatch, time] : seen.times)
    EXPECT_EQ(time.end_ticks == 0, trace::PacketOf(dispatch) % 5 == 2) << dispatch;
  runtime_.core().hsa_signal_destroy_fn(signal);
}

// A barrier packet of the program's is evidence too: no kernel may come after the lost completion.
TEST_F(AgentTest, ABarrierPacketEndsKernelsWhoseCompletionsWereLost) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.LoseCompletionOf(0);
  Launch(queue);
  for (int i = 0; i < 3; ++i) Launch(queue);
  const uint64_t barrier = PassBarrier(queue);
  Seen seen;
  const uint64_t deadline_ns = base::ClockNs(CLOCK_MONOTONIC) + kHangNs;
  while (seen.times.size() < barrier && base::ClockNs(CLOCK_MONOTONIC) < deadline_ns) seen = Read();
  EXPECT_EQ(seen.times.size(), barrier);
  EXPECT_EQ(seen.Timed(), 3u);
  EXPECT_EQ(HarvestDispatches(), 0u) << "nothing is in flight";
}

// A kernel with the barrier bit begins when those before it have ended, so nobody waits for a
// completion that was lost before it.
TEST_F(AgentTest, AKernelWithTheBarrierBitEndsThoseBeforeItAtOnce) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.LoseCompletionOf(0);
  Launch(queue);
  Launch(queue, {0}, 64, true);
  ASSERT_TRUE(fake.WaitUntilConsumed(2));
  const Seen seen = Read();
  EXPECT_EQ(seen.times.size(), 2u);
  EXPECT_EQ(seen.Timed(), 1u);
}

// Without that bit the kernel before may run on: its completion still comes.
TEST_F(AgentTest, AKernelWithoutTheBarrierBitEndsNoneBeforeIt) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.LoseCompletionOf(0);
  Launch(queue);
  Launch(queue);
  ASSERT_TRUE(fake.WaitUntilConsumed(2));
  EXPECT_EQ(Read().times.size(), 1u);
  fake.CompleteLost();
  EXPECT_EQ(Read().Timed(), 2u);
}

// The read index says that kernels have ended; their completions are written on a way of their own.
TEST_F(AgentTest, ACompletionThatComesLongAfterTheReadIndexPassedHasItsTimes) {
  constexpr uint64_t kLateNs = 300'000'000;
  constexpr uint64_t kSurelyInTimeNs = 900'000'000;
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  // A machine that sleeps three times too long shows nothing, so it is asked again.
  bool in_time = false;
  for (int attempt = 0; attempt < 20 && !in_time; ++attempt) {
    fake.LoseCompletionOf(fake.write_);
    const uint64_t late = Launch(queue);
    const uint64_t before_ns = base::ClockNs(CLOCK_MONOTONIC);
    PassBarrier(queue);
    usleep(kLateNs / 1000);
    const uint64_t end_ticks = fake.CompleteLost();
    in_time = base::ClockNs(CLOCK_MONOTONIC) - before_ns < kSurelyInTimeNs;
    if (!in_time) continue;
    const Seen seen = Read();
    const auto time = seen.times.find(trace::DispatchNumber(1, late));
    ASSERT_NE(time, seen.times.end());
    EXPECT_EQ(time->second.end_ticks, end_ticks);
  }
  EXPECT_TRUE(in_time);
}

// The GPU may write to a signal whose completion we gave up: no other kernel gets it.
TEST_F(AgentTest, ASignalWhoseCompletionWasLostIsNotLentAgain) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(1024);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.LoseCompletionOf(0);
  Launch(queue);
  PassBarrier(queue);
  const uint64_t deadline_ns = base::ClockNs(CLOCK_MONOTONIC) + kHangNs;
  while (Read().times.empty() && base::ClockNs(CLOCK_MONOTONIC) < deadline_ns) usleep(50'000);
  fake.Hold();
  constexpr uint64_t kMany = 500;  // more than are lent at once
  for (uint64_t i = 0; i < kMany; ++i) Launch(queue);
  fake.CompleteLost();
  EXPECT_EQ(Read().times.size(), 1u) << "the GPU has run none of them";
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(kMany + 2));
  EXPECT_EQ(Read().Timed(), kMany);
}

// Nothing can come for a packet that has no signal of ours, so nobody waits for it.
TEST_F(AgentTest, ABarrierPacketEndsAKernelThatWasTakenBeforeItsDoorbellAtOnce) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t kernel = runtime_.KernelObject(1);
  const uint64_t taken = fake.Reserve();
  fake.Write(taken, kernel, {0});
  fake.doorbell = taken + 1;
  ASSERT_TRUE(fake.WaitUntilConsumed(taken + 1));
  runtime_.Ring(queue, taken);
  PassBarrier(queue);
  EXPECT_EQ(Read().times.size(), 1u);
}

TEST_F(AgentTest, APacketThatIsTakenBeforeItsDoorbellIsRecordedWithoutATime) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t kernel = runtime_.KernelObject(1);
  for (uint64_t i = 0; i < 20; ++i) {
    const uint64_t index = fake.Reserve();
    fake.Write(index, kernel, {0});
    if (i % 2 == 0) {
      fake.doorbell = index + 1;
      ASSERT_TRUE(fake.WaitUntilConsumed(index + 1));
    }
    runtime_.Ring(queue, index);
    ASSERT_TRUE(fake.WaitUntilConsumed(index + 1));
  }
  const uint64_t barrier = fake.Reserve();
  fake.Write(barrier, kernel, {0}, true);
  runtime_.Ring(queue, barrier);
  ASSERT_TRUE(fake.WaitUntilConsumed(barrier + 1));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 21u);
  EXPECT_EQ(seen.times.size(), 21u);
  EXPECT_EQ(seen.Timed(), 11u);
}

}  // namespace
}  // namespace rochound::agent
