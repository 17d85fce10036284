// SPDX-License-Identifier: MIT
//
// Several kernels or copies on one signal of the program's. The test itself is the GPU, so that
// nothing happens between two looks of the recorder's.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "agent/agent_testing.h"
#include "agent/fake_runtime.h"
#include "trace/records.h"

namespace rochound::agent {
namespace {

class OneSignal : public AgentTest {
 protected:
  void Launch3() {
    Load();
    queue_ = runtime_.CreateQueue(64);
    FakeRuntime::Of(queue_).Hold();
    signal_ = runtime_.CreateSignal(3);
    for (uint64_t& dispatch : dispatches_)
      dispatch = trace::DispatchNumber(1, Launch(queue_, signal_));
  }
  void Complete(int64_t value, uint64_t begin, uint64_t end) {
    auto* const memory = reinterpret_cast<amd_signal_t*>(signal_.handle);
    __atomic_store_n(&memory->start_ts, begin, __ATOMIC_RELAXED);
    __atomic_store_n(&memory->end_ts, end, __ATOMIC_RELAXED);
    __atomic_store_n(&memory->value, value, __ATOMIC_RELEASE);
    value_ = value;
  }
  void TearDown() override {
    FakeRuntime::Of(queue_).Go();
    EXPECT_TRUE(FakeRuntime::Of(queue_).WaitUntilConsumed(3));
    // What it has taken it still completes, one after the other.
    const auto* const memory = reinterpret_cast<const amd_signal_t*>(signal_.handle);
    for (int i = 0; i < 60'000 && __atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) > value_ - 3;
         ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    runtime_.core().hsa_signal_destroy_fn(signal_);
    AgentTest::TearDown();
  }

  hsa_queue_t* queue_ = nullptr;
  hsa_signal_t signal_{};
  int64_t value_ = 3;  // as last set by the test
  uint64_t dispatches_[3] = {};
};

TEST_F(OneSignal, EachWaitsForItsOwnValueAndTheLastHasTheTimes) {
  Launch3();
  Complete(2, 100, 110);
  const Seen first = Read();
  ASSERT_EQ(first.times.size(), 1u);
  EXPECT_EQ(first.times.at(dispatches_[0]).begin_ticks, 100u);
  EXPECT_EQ(first.times.at(dispatches_[0]).end_ticks, 110u);
  Complete(0, 300, 310);
  const Seen all = Read();
  ASSERT_EQ(all.times.size(), 3u);
  EXPECT_EQ(all.times.at(dispatches_[1]).end_ticks, 0u) << "the third has overwritten its times";
  EXPECT_EQ(all.times.at(dispatches_[2]).end_ticks, 310u);
}

TEST_F(OneSignal, TimesThatAreBeingWrittenAreNotTaken) {
  Launch3();
  Complete(2, 300, 110);
  const Seen seen = Read();
  ASSERT_EQ(seen.times.size(), 1u);
  EXPECT_EQ(seen.times.at(dispatches_[0]).begin_ticks, 0u);
  EXPECT_EQ(seen.times.at(dispatches_[0]).end_ticks, 0u);
}

// Copies that the test itself completes.
class HeldCopies : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    runtime_.table()->amd_ext_->hsa_amd_memory_async_copy_fn =
        [](void*, hsa_agent_t, const void*, hsa_agent_t, size_t, uint32_t, const hsa_signal_t*,
           hsa_signal_t) { return HSA_STATUS_SUCCESS; };
    Load();
  }
  void Copy(hsa_signal_t signal) {
    EXPECT_EQ(runtime_.amd().hsa_amd_memory_async_copy_fn(&memory_, {2}, &memory_, {1},
                                                          sizeof memory_, 0, nullptr, signal),
              HSA_STATUS_SUCCESS);
  }
  static void Complete(hsa_signal_t signal, int64_t value, uint64_t begin, uint64_t end) {
    auto* const memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    memory->start_ts = begin;
    memory->end_ts = end;
    __atomic_store_n(&memory->value, value, __ATOMIC_RELEASE);
  }
  std::vector<uint64_t> Ends() {
    std::vector<uint64_t> ends;
    for (const auto& [copy, time] : Read().copy_times) ends.push_back(time.end_ticks);
    return ends;
  }

  int memory_ = 0;
};

// The program gives up on the second, whose signal still has the times of the first.
TEST_F(HeldCopies, ACopyThatIsGivenUpHasNoTimes) {
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  Copy(signal);
  Complete(signal, 0, 100, 200);
  runtime_.core().hsa_signal_store_relaxed_fn(signal, 1);
  Copy(signal);
  runtime_.core().hsa_signal_store_relaxed_fn(signal, 1);
  EXPECT_EQ(Ends(), (std::vector<uint64_t>{200, 0}));
  runtime_.core().hsa_signal_destroy_fn(signal);
}

// The runtime clears a signal's times when the next copy on it begins.
TEST_F(HeldCopies, ACopyBeforeAnotherOnItsSignalHasNoTimes) {
  const hsa_signal_t signal = runtime_.CreateSignal(2);
  Copy(signal);
  Copy(signal);
  Complete(signal, 1, 100, 200);
  EXPECT_EQ(Ends(), std::vector<uint64_t>{0});
  Complete(signal, 0, 300, 400);
  EXPECT_EQ(Ends(), (std::vector<uint64_t>{0, 400}));
  runtime_.core().hsa_signal_destroy_fn(signal);
}

}  // namespace
}  // namespace rochound::agent
