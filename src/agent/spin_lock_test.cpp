// SPDX-License-Identifier: MIT
#include "agent/spin_lock.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "base/clock.h"

namespace rochound::agent {
namespace {

// Of those that this thread may use.
cpu_set_t OneCpu() {
  cpu_set_t all;
  cpu_set_t one;
  CPU_ZERO(&one);
  EXPECT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  return one;
}

void Work(uint64_t ns) {
  const uint64_t begin = base::ClockNs(CLOCK_THREAD_CPUTIME_ID);
  while (base::ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin < ns) {
  }
}

// One that only yields goes on before any thread of lower priority does, until the kernel stops it
// after nearly a second.
TEST(SpinLockTest, ARealTimeThreadLetsTheHolderGoOn) {
  const cpu_set_t cpu = OneCpu();
  SpinLock lock;
  std::atomic<bool> held{false};
  std::atomic<bool> allowed{true};
  std::atomic<uint64_t> waited_ns{0};
  std::thread holder([&] {
    pthread_setaffinity_np(pthread_self(), sizeof cpu, &cpu);
    lock.lock();
    held = true;
    while (allowed && waited_ns == 0) sched_yield();  // until the other waits
    Work(5'000'000);
    lock.unlock();
  });
  std::thread waiter([&] {
    pthread_setaffinity_np(pthread_self(), sizeof cpu, &cpu);
    while (!held) sched_yield();
    const sched_param lowest{1};
    allowed = sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
    waited_ns = 1;
    if (!allowed) return;
    const uint64_t begin = base::ClockNs(CLOCK_MONOTONIC);
    lock.lock();
    waited_ns = base::ClockNs(CLOCK_MONOTONIC) - begin;
    lock.unlock();
  });
  waiter.join();
  holder.join();
  if (!allowed) GTEST_SKIP() << "no real-time threads without CAP_SYS_NICE";
  EXPECT_LT(waited_ns.load(), 500'000'000u);
}

}  // namespace
}  // namespace rochound::agent
