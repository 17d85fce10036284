// SPDX-License-Identifier: MIT
#include "softgpu/machine/activity.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

namespace rochound::softgpu {
namespace {

// Yield for a while first: a program that launches kernel after kernel rings again within
// microseconds. Then sleep longer and longer: an idle queue must cost next to nothing.
constexpr uint32_t kYieldRounds = 40;
constexpr uint32_t kShortestSleepMicroseconds = 20;
constexpr uint32_t kLongestSleepMicroseconds = 5000;

}  // namespace

Activity& Activity::Instance() {
  static Activity* activity = new Activity;  // outlives static destructors
  return *activity;
}

void Activity::Kick() {
  sequence_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, &sequence_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Activity::Sleep(uint32_t microseconds) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  uint32_t seen = sequence_.load(std::memory_order_seq_cst);
  timespec timeout = {0, static_cast<long>(microseconds) * 1000};
  syscall(SYS_futex, &sequence_, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void Activity::Waiter::Pause() {
  if (rounds_ < kYieldRounds) {
    ++rounds_;
    sched_yield();
    return;
  }
  uint32_t doublings = std::min((rounds_ - kYieldRounds) / 8, 8u);
  if (rounds_ < kYieldRounds + 100) ++rounds_;
  Instance().Sleep(std::min(kShortestSleepMicroseconds << doublings, kLongestSleepMicroseconds));
}

}  // namespace rochound::softgpu
