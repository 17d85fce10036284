// SPDX-License-Identifier: MIT
//
// What the machine does when it is asked to be unkind, each fault beside a machine without it.
#include <gtest/gtest.h>
#include <hsa/amd_hsa_signal.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "softgpu/machine/local_machine.h"

namespace rochound::softgpu {
namespace {

using base::InjectedFaults;

constexpr uint32_t kEnd = 0xBF810000;      // s_endpgm
constexpr uint32_t kForever = 0xBF82FFFF;  // s_branch to itself

DeviceConfig With(const char* faults) {
  DeviceConfig config = LocalMachine::Rx6800xt();
  config.faults = base::ParseInjectedFaults(faults).value();
  return config;
}

// For what must happen, on a machine as slow as it may be.
constexpr int kHangMs = 60'000;

template <typename Condition>
bool Within(int milliseconds, Condition condition) {
  for (int i = 0; i < milliseconds; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

struct Signals {
  Signals(LocalMachine& machine, size_t count)
      : signals(static_cast<amd_signal_t*>(machine.Allocate(count * sizeof(amd_signal_t)))) {
    for (size_t i = 0; i < count; ++i) signals[i].value = 1;
  }
  uint64_t Handle(size_t i) const { return reinterpret_cast<uint64_t>(&signals[i]); }
  bool Done(size_t i) const { return __atomic_load_n(&signals[i].value, __ATOMIC_ACQUIRE) == 0; }

  amd_signal_t* signals;
};

TEST(InjectedFaultsTest, APacketWithoutADoorbellIsNotRescued) {
  for (const bool rescue : {true, false}) {
    LocalMachine machine(With(rescue ? "" : "no-rescue"));
    const uint64_t kernel = machine.LoadWords({kEnd});
    const uint64_t first = machine.Enqueue({kernel, 32, 32});
    const uint64_t second = machine.Enqueue({kernel, 32, 32});
    machine.Ring(first);
    EXPECT_EQ(Within(rescue ? kHangMs : 400, [&] { return machine.ReadIndex() == 2; }), rescue);
    machine.Ring(second);
    EXPECT_TRUE(machine.Wait());
  }
}

TEST(InjectedFaultsTest, AMappedQueueTakesPacketsUpToTheWriteIndex) {
  LocalMachine machine(With("no-rescue,early-packets=1"));
  const uint64_t kernel = machine.LoadWords({kEnd});
  const uint64_t first = machine.Enqueue({kernel, 32, 32});
  machine.Enqueue({kernel, 32, 32});
  machine.Ring(first);
  EXPECT_TRUE(machine.Wait()) << "the second is taken as well";
  ASSERT_EQ(machine.injected().size(), 1u);
  EXPECT_EQ(machine.injected()[0].fault, "early-packets");
  EXPECT_EQ(machine.injected()[0].packet, 1u);
  // Only doorbells unmap a queue: one that is left alone shows that somebody forgot to ring.
  const uint64_t third = machine.Enqueue({kernel, 32, 32});
  EXPECT_FALSE(Within(300, [&] { return machine.ReadIndex() == 3; }));
  machine.Ring(third);
  EXPECT_TRUE(machine.Wait());
}

TEST(InjectedFaultsTest, TheReadIndexPassesAKernelThatRuns) {
  for (const bool early : {false, true}) {
    LocalMachine machine(With(early ? "early-read-index" : ""));
    Signals signals(machine, 1);
    machine.Submit({.kernel_object = machine.LoadWords({kForever}),
                    .grid = 32,
                    .group = 32,
                    .signal = signals.Handle(0)});
    EXPECT_EQ(Within(early ? kHangMs : 100, [&] { return machine.ReadIndex() == 1; }), early);
    EXPECT_FALSE(signals.Done(0));
  }
}

// A kernel that copies the first words of its packet: workgroup_size_x is in the second.
TEST(InjectedFaultsTest, AKernelReadsItsPacketAlthoughItsSlotIsFree) {
  LocalMachine machine(With("early-read-index"));
  const uint64_t kernel = machine.LoadWords({
      0xF4000082,
      0xFA000004,  // s_load_dword s2, s[4:5], 0x4 (dispatch_ptr)
      0xBF8CC07F,  // s_waitcnt lgkmcnt(0)
      kEnd,
  });
  // enable_sgpr_private_segment_buffer and enable_sgpr_dispatch_ptr: s[4:5].
  *reinterpret_cast<uint16_t*>(kernel + 56) |= 3;
  for (int i = 0; i < 10; ++i) machine.Submit({kernel, 32, 32});
  EXPECT_TRUE(machine.Wait()) << machine.error();
}

TEST(InjectedFaultsTest, CompletionsComeInAnyOrderUnlessABarrierIsBetween) {
  constexpr size_t kLaunches = 20;
  constexpr size_t kBatches = 20;
  for (const bool barrier : {false, true}) {
    LocalMachine machine(With("late-completions=2"));
    machine.SwitchTimesOn();
    const uint64_t kernel = machine.LoadWords({kEnd});
    size_t overtaken = 0;
    // A completion is late by less than a slow machine may keep this thread from looking: without
    // barriers it looks at further batches until it has seen one overtaken.
    const uint64_t deadline = base::MonotonicRawNs() + uint64_t{kHangMs} * 1'000'000;
    for (size_t batch = 0; batch < kBatches || (!barrier && overtaken == 0); ++batch) {
      Signals signals(machine, kLaunches);
      for (size_t i = 0; i < kLaunches; ++i)
        machine.Submit({.kernel_object = kernel,
                        .grid = 32,
                        .group = 32,
                        .signal = signals.Handle(i),
                        .barrier = barrier});
      size_t done = 0;
      while (done < kLaunches) {
        ASSERT_LT(base::MonotonicRawNs(), deadline);
        done = 0;
        // From the last to the first: what is pending after a later one was done is overtaken.
        for (size_t i = kLaunches; i-- > 0;) {
          const bool pending = !signals.Done(i);
          overtaken += pending && done != 0;
          done += !pending;
        }
      }
      for (size_t i = 0; i < kLaunches; ++i) {
        EXPECT_NE(signals.signals[i].start_ts, 0u);
        EXPECT_LE(signals.signals[i].start_ts, signals.signals[i].end_ts);
      }
    }
    EXPECT_EQ(overtaken == 0, barrier) << overtaken;
  }
}

TEST(InjectedFaultsTest, DroppedCompletionsAreThoseThatTheSeedSays) {
  constexpr size_t kLaunches = 200;
  LocalMachine machine(With("drop-completions=8,seed=3"));
  Signals signals(machine, kLaunches);
  const uint64_t kernel = machine.LoadWords({kEnd});
  for (size_t i = 0; i < kLaunches; ++i)
    machine.Submit({.kernel_object = kernel, .grid = 32, .group = 32, .signal = signals.Handle(i)});
  const InjectedFaults& faults = machine.device().config().faults;
  size_t last = kLaunches - 1;
  while (faults.Happens(&InjectedFaults::drop_completions, 1, last)) --last;
  ASSERT_TRUE(
      Within(kHangMs, [&] { return machine.ReadIndex() == kLaunches && signals.Done(last); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::vector<uint64_t> lost;
  for (size_t i = 0; i < kLaunches; ++i) {
    EXPECT_EQ(signals.Done(i), !faults.Happens(&InjectedFaults::drop_completions, 1, i)) << i;
    if (!signals.Done(i)) lost.push_back(i);
  }
  EXPECT_GT(lost.size(), 5u);
  ASSERT_EQ(machine.injected().size(), lost.size());
  for (size_t i = 0; i < lost.size(); ++i) EXPECT_EQ(machine.injected()[i].packet, lost[i]);
}

TEST(InjectedFaultsTest, AQueueIsMadeInactive) {
  LocalMachine machine(With("inactive-queues=1"));
  machine.Submit({machine.LoadWords({kEnd}), 32, 32});
  EXPECT_FALSE(machine.Wait());
  EXPECT_NE(machine.error().find("queue made inactive before"), std::string::npos)
      << machine.error();
  EXPECT_EQ(machine.device().instructions_executed(), 0u);
  ASSERT_EQ(machine.injected().size(), 1u);
  EXPECT_EQ(machine.injected()[0].fault, "inactive-queues");
}

TEST(InjectedFaultsTest, StrictLosesNothing) {
  LocalMachine machine(With("strict"));
  const uint64_t kernel = machine.LoadWords({kEnd});
  for (uint16_t i = 0; i < 10000; ++i)
    machine.Submit({.kernel_object = kernel, .grid = 32, .group = 32, .barrier = i % 3 == 0});
  EXPECT_TRUE(machine.Wait()) << machine.error();
  EXPECT_EQ(machine.device().instructions_executed(), 10000u);
}

}  // namespace
}  // namespace rochound::softgpu
