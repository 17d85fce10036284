// SPDX-License-Identifier: MIT
//
// A lock for a few instructions at a time, which needs no initialisation at run time. Any thread.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>

namespace rochound::agent {

class SpinLock {
 public:
  void lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  bool try_lock() { return !flag_.test_and_set(std::memory_order_acquire); }
  // For code that may run in a signal handler (exit), on a thread that holds the lock: gives up
  // after a while.
  bool lock_soon() {
    constexpr int kYields = 20'000;
    for (int tries = 0; tries < kYields; ++tries) {
      if (try_lock()) return true;
      if (tries % 64 == 63) usleep(50);
      sched_yield();
    }
    return false;
  }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

}  // namespace rochound::agent
