// SPDX-License-Identifier: MIT
#include "softgpu/driver/events.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace rochound::softgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class EventsTest : public testing::Test {
 protected:
  EventsTest() : slots_(new std::atomic<uint64_t>[kfd::kSignalEventLimit]) {
    EXPECT_EQ(events_.SetPage(slots_.get()), 0);
  }

  uint32_t Create(bool auto_reset, uint32_t type = kfd::kEventSignal) {
    uint32_t id = 0;
    EXPECT_EQ(events_.Create(type, auto_reset, &id), 0);
    return id;
  }

  // Waits for one event; returns the kernel's wait result.
  uint32_t Wait(uint32_t id, uint32_t timeout_ms, uint64_t* age = nullptr) {
    kfd::EventData data{};
    data.event_id = id;
    if (age != nullptr) data.last_event_age = *age;
    uint32_t result = ~0u;
    EXPECT_EQ(events_.Wait(&data, 1, true, timeout_ms, &result, [this] { ++blocked_; }), 0);
    if (age != nullptr) *age = data.last_event_age;
    return result;
  }

  EventTable events_;
  std::unique_ptr<std::atomic<uint64_t>[]> slots_;
  std::atomic<int> blocked_{0};
};

TEST_F(EventsTest, ManualResetStaysSignaled) {
  const uint32_t id = Create(false);
  EXPECT_EQ(Wait(id, 0), kfd::kWaitTimeout);
  EXPECT_EQ(events_.Set(id), 0);
  EXPECT_EQ(Wait(id, 0), kfd::kWaitComplete);
  EXPECT_EQ(Wait(id, 0), kfd::kWaitComplete);
  EXPECT_EQ(events_.Reset(id), 0);
  EXPECT_EQ(Wait(id, 0), kfd::kWaitTimeout);
}

TEST_F(EventsTest, AutoResetIsUsedUpByOneWait) {
  const uint32_t id = Create(true);
  EXPECT_EQ(events_.Set(id), 0);
  EXPECT_EQ(Wait(id, 0), kfd::kWaitComplete);
  EXPECT_EQ(Wait(id, 0), kfd::kWaitTimeout);
}

TEST_F(EventsTest, TimeoutLastsAsLongAsAsked) {
  const uint32_t id = Create(true);
  const auto start = steady_clock::now();
  EXPECT_EQ(Wait(id, 50), kfd::kWaitTimeout);
  EXPECT_GE(steady_clock::now() - start, milliseconds(50));
}

TEST_F(EventsTest, ASignaledEventDoesNotBlock) {
  const uint32_t id = Create(true);
  EXPECT_EQ(events_.Set(id), 0);
  EXPECT_EQ(Wait(id, kfd::kWaitForever), kfd::kWaitComplete);
  EXPECT_EQ(blocked_, 0);
  EXPECT_EQ(Wait(id, 0), kfd::kWaitTimeout);
  EXPECT_EQ(blocked_, 1) << "the devices were not told that somebody waits";
}

TEST_F(EventsTest, AgeCountsSignalsAndSavesTheLateWaiter) {
  const uint32_t id = Create(true);
  uint64_t age = 1;  // what a runtime starts with
  EXPECT_EQ(Wait(id, 0, &age), kfd::kWaitTimeout);
  EXPECT_EQ(age, 1u);
  EXPECT_EQ(events_.Set(id), 0);
  uint64_t other_age = 0;  // 0: no age wanted; uses the signal up
  EXPECT_EQ(Wait(id, 0, &other_age), kfd::kWaitComplete);
  EXPECT_EQ(other_age, 0u);
  EXPECT_EQ(Wait(id, 0, &age), kfd::kWaitComplete) << "the signal between two waits was lost";
  EXPECT_EQ(age, 2u);
  EXPECT_EQ(Wait(id, 0, &age), kfd::kWaitTimeout);
  EXPECT_EQ(events_.Set(id), 0);
  EXPECT_EQ(events_.Set(id), 0);
  EXPECT_EQ(Wait(id, 0, &age), kfd::kWaitComplete);
  EXPECT_EQ(age, 4u);
}

TEST_F(EventsTest, InterruptWakesEveryWaiterAndClearsTheSlot) {
  const uint32_t id = Create(true);
  std::vector<std::thread> threads;
  std::atomic<int> woken{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { woken += Wait(id, kfd::kWaitForever) == kfd::kWaitComplete; });
  while (blocked_ < 4) std::this_thread::yield();
  std::this_thread::sleep_for(milliseconds(20));
  slots_[id] = id;
  events_.Interrupt(id);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(woken, 4);
  EXPECT_EQ(slots_[id], kfd::kUnsignaledSlot);
  EXPECT_EQ(Wait(id, 0), kfd::kWaitTimeout) << "the waiters did not use the signal up";
}

TEST_F(EventsTest, InterruptWithoutAnIdLooksAtTheSlots) {
  const uint32_t quiet = Create(true);
  const uint32_t rung = Create(true);
  slots_[rung] = 1;
  events_.Interrupt(0);
  EXPECT_EQ(Wait(quiet, 0), kfd::kWaitTimeout);
  EXPECT_EQ(Wait(rung, 0), kfd::kWaitComplete);
  EXPECT_EQ(slots_[rung], kfd::kUnsignaledSlot);
}

TEST_F(EventsTest, WaitForAnyAndForAll) {
  kfd::EventData data[3] = {};
  for (auto& one : data) one.event_id = Create(false);
  uint32_t result = 0;
  const auto wait = [&](bool all) {
    EXPECT_EQ(events_.Wait(data, 3, all, 0, &result, [] {}), 0);
    return result;
  };
  events_.Set(data[1].event_id);
  EXPECT_EQ(wait(false), kfd::kWaitComplete);
  EXPECT_EQ(wait(true), kfd::kWaitTimeout);
  events_.Set(data[0].event_id);
  events_.Set(data[2].event_id);
  EXPECT_EQ(wait(true), kfd::kWaitComplete);
}

TEST_F(EventsTest, WaitForAllGathersSignalsThatComeOneByOne) {
  kfd::EventData data[12] = {};  // more than fit on the waiter's stack
  for (auto& one : data) one.event_id = Create(true);
  std::thread setter([&] {
    for (auto& one : data) {
      std::this_thread::sleep_for(milliseconds(1));
      events_.Set(one.event_id);
    }
  });
  uint32_t result = ~0u;
  EXPECT_EQ(events_.Wait(data, 12, true, 10000, &result, [] {}), 0);
  EXPECT_EQ(result, kfd::kWaitComplete);
  setter.join();
}

TEST_F(EventsTest, DestroyingAnEventEndsTheWait) {
  const uint32_t id = Create(true);
  kfd::EventData data{};
  data.event_id = id;
  uint32_t result = 0;
  int error = 0;
  std::thread waiter([&] {
    error = events_.Wait(&data, 1, true, kfd::kWaitForever, &result, [this] { ++blocked_; });
  });
  while (blocked_ < 1) std::this_thread::yield();
  EXPECT_EQ(events_.Destroy(id), 0);
  waiter.join();
  EXPECT_EQ(error, -EIO);
  EXPECT_EQ(result, kfd::kWaitFail);
  EXPECT_EQ(events_.Destroy(id), -EINVAL);
}

TEST_F(EventsTest, UnknownEventsAreRefused) {
  kfd::EventData data{};
  data.event_id = 77;
  uint32_t result = 0;
  EXPECT_EQ(events_.Wait(&data, 1, true, 0, &result, [] {}), -EINVAL);
  EXPECT_EQ(events_.Set(77), -EINVAL);
  EXPECT_EQ(events_.Reset(77), -EINVAL);
  uint32_t id = 0;
  EXPECT_EQ(events_.Create(9, false, &id), -EINVAL);
}

TEST_F(EventsTest, IdsAreNeverZeroAreReusedAndRunOut) {
  uint32_t id = 0;
  for (uint32_t i = 1; i < kfd::kSignalEventLimit; ++i) {
    ASSERT_EQ(events_.Create(kfd::kEventSignal, true, &id), 0);
    ASSERT_NE(id, 0u);
    ASSERT_LT(id, kfd::kSignalEventLimit);
  }
  EXPECT_EQ(events_.Create(kfd::kEventSignal, true, &id), -ENOSPC);
  EXPECT_EQ(events_.Destroy(1234), 0);
  EXPECT_EQ(events_.Create(kfd::kEventSignal, true, &id), 0);
  EXPECT_EQ(id, 1234u);
}

TEST_F(EventsTest, MemoryExceptionReachesItsWaiterWithTheFacts) {
  const uint32_t id = Create(false, kfd::kEventMemory);
  EXPECT_GE(id, kfd::kSignalEventLimit) << "would take a slot that is another event's";
  EXPECT_EQ(events_.Set(id), -EINVAL) << "only the driver may signal it";
  const uint32_t other = Create(true, kfd::kEventHwException);
  kfd::EventData data[2] = {};
  data[0].event_id = other;
  data[1].event_id = id;
  uint32_t result = ~0u;
  std::thread waiter(
      [&] { EXPECT_EQ(events_.Wait(data, 2, false, 10000, &result, [this] { ++blocked_; }), 0); });
  while (blocked_ < 1) std::this_thread::yield();
  kfd::MemoryExceptionData fault{};
  fault.gpu_id = 50001;
  fault.address = 0xABC000;
  fault.not_present = 1;
  events_.RaiseMemoryException(fault);
  waiter.join();
  EXPECT_EQ(result, kfd::kWaitComplete);
  EXPECT_EQ(data[0].memory_exception.gpu_id, 0u);
  EXPECT_EQ(data[1].memory_exception.gpu_id, 50001u);
  EXPECT_EQ(data[1].memory_exception.address, 0xABC000u);
  EXPECT_EQ(data[1].memory_exception.not_present, 1u);
}

// Signals from one thread, waits from another: with ages no signal may be lost between two waits.
TEST_F(EventsTest, NoSignalIsLostUnderLoad) {
  const uint32_t id = Create(true);
  constexpr int kRounds = 20000;
  std::atomic<int> produced{0};
  std::thread producer([&] {
    for (int i = 0; i < kRounds; ++i) {
      ++produced;
      events_.Interrupt(id);
    }
  });
  uint64_t age = 1;
  while (age < kRounds + 1) {
    ASSERT_EQ(Wait(id, 10000, &age), kfd::kWaitComplete) << "at age " << age;
  }
  producer.join();
  EXPECT_EQ(produced, kRounds);
}

}  // namespace
}  // namespace rochound::softgpu
