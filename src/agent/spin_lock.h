// SPDX-License-Identifier: MIT
//
// A lock for a few instructions at a time, which needs no initialisation at run time. Any thread.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "agent/thread_state.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/thread_annotations.h"

namespace rochound::agent {

class ROCHOUND_CAPABILITY("spin lock") SpinLock {
 public:
  void lock() ROCHOUND_ACQUIRE() {
    ROCHOUND_DCHECK(!held_here());  // it would wait for itself
    for (int tries = 0; !try_lock(); ++tries %= kTriesPerPause) Wait(tries);
  }
  bool try_lock() ROCHOUND_TRY_ACQUIRE(true) {
    const void* nobody = nullptr;
    return holder_.compare_exchange_strong(nobody, ThisThread(), std::memory_order_acquire,
                                           std::memory_order_relaxed);
  }
  // For code that may run in a signal handler (exit): gives up after a while, and at once where the
  // handler has interrupted the holder.
  bool lock_soon(uint64_t patience_ns = 200'000'000) ROCHOUND_TRY_ACQUIRE(true) {
    if (held_here()) return false;
    const uint64_t give_up_ns = base::ClockNs(CLOCK_MONOTONIC) + patience_ns;
    for (int tries = 0; !try_lock(); ++tries %= kTriesPerPause) {
      if (tries == 0 && base::ClockNs(CLOCK_MONOTONIC) > give_up_ns) return false;
      Wait(tries);
    }
    return true;
  }
  // For code that has to know that who held it has finished, as far as lock_soon waits for that.
  void WaitUntilFree() {
    if (lock_soon()) unlock();
  }
  // For hooks. interrupted: this thread was in our code already. False: the lock cannot be had.
  bool lock_in_hook(bool interrupted) ROCHOUND_TRY_ACQUIRE(true) {
    if (interrupted) return lock_soon();
    lock();
    return true;
  }
  void unlock() ROCHOUND_RELEASE() {
    ROCHOUND_DCHECK(held_here());
    holder_.store(nullptr, std::memory_order_release);
  }
  bool held_here() const { return holder_.load(std::memory_order_relaxed) == ThisThread(); }
  // In a function that is called with it held, by way of code that the analysis cannot follow.
  void AssertHeld() const ROCHOUND_ASSERT_HELD() { ROCHOUND_DCHECK(held_here()); }

 private:
  static constexpr int kTriesPerPause = 64;

  // Different on each thread that lives.
  static const void* ThisThread() { return &internal::thread_slot; }

  static void Wait(int tries) {
    if (tries != kTriesPerPause - 1) {
      sched_yield();
      return;
    }
    // The holder may be a thread of lower priority, which gets nothing of a yield. Not by usleep,
    // where a thread that was cancelled would end.
    const int program_errno = errno;
    const timespec pause{0, 50'000};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, nullptr);
    errno = program_errno;
  }

  std::atomic<const void*> holder_{nullptr};
};

}  // namespace rochound::agent
