// SPDX-License-Identifier: MIT
#include "base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace rochound::base {
namespace {

using std::chrono::milliseconds;

struct Counter {
  Mutex mutex;
  Condition changed;
  int value ROCHOUND_GUARDED_BY(mutex) = 0;
};

// Whether somebody else could take it now.
template <typename Kind>
bool IsFree(Kind& mutex) {
  bool taken = false;
  std::thread([&] {
    if (!mutex.try_lock()) return;
    taken = true;
    mutex.unlock();
  }).join();
  return taken;
}

TEST(MutexTest, ALockHoldsToTheEndOfItsBlock) {
  Mutex mutex;
  {
    const Lock lock(mutex);
    EXPECT_FALSE(IsFree(mutex));
  }
  EXPECT_TRUE(IsFree(mutex));
  ASSERT_TRUE(mutex.try_lock());
  {
    const Lock lock(mutex, std::adopt_lock);
    EXPECT_FALSE(IsFree(mutex));
  }
  EXPECT_TRUE(IsFree(mutex));
}

TEST(MutexTest, AUniqueLockCanBeReleasedForAWhile) {
  Mutex mutex;
  {
    UniqueLock lock(mutex);
    EXPECT_FALSE(IsFree(mutex));
    lock.unlock();
    EXPECT_TRUE(IsFree(mutex));
    lock.lock();
    EXPECT_FALSE(IsFree(mutex));
  }
  EXPECT_TRUE(IsFree(mutex));
}

// A standard mutex that is released twice may show nothing.
struct ROCHOUND_CAPABILITY("mutex") CountingLock {
  void lock() ROCHOUND_ACQUIRE() { ++held; }
  void unlock() ROCHOUND_RELEASE() { --held; }
  int held = 0;
};

TEST(MutexTest, AUniqueLockIsReleasedOnce) {
  CountingLock counting;
  {
    UniqueLock lock(counting);
    lock.unlock();
    EXPECT_EQ(counting.held, 0);
  }
  EXPECT_EQ(counting.held, 0);
}

TEST(MutexTest, ManyReadAndOneWrites) {
  SharedMutex mutex;
  const SharedLock lock(mutex);
  std::thread([&] { const SharedLock another(mutex); }).join();
}

TEST(MutexTest, WhoWaitsIsWokenWithTheLockHeld) {
  Counter counter;
  std::thread other([&] {
    for (int i = 0; i < 3; ++i) {
      const Lock lock(counter.mutex);
      ++counter.value;
      counter.changed.notify_all();
    }
  });
  {
    const Lock lock(counter.mutex);
    while (counter.value != 3) counter.changed.Wait(counter.mutex);
    EXPECT_FALSE(IsFree(counter.mutex));
  }
  other.join();
}

TEST(MutexTest, AWaitEndsWhenItsTimeHasCome) {
  Mutex mutex;
  Condition never;
  const Lock lock(mutex);
  const auto until = std::chrono::steady_clock::now() + milliseconds(20);
  while (never.WaitUntil(mutex, until)) {
  }
  EXPECT_GE(std::chrono::steady_clock::now(), until);
  while (never.WaitFor(mutex, milliseconds(1))) {
  }
  EXPECT_FALSE(IsFree(mutex));
}

}  // namespace
}  // namespace rochound::base
