// SPDX-License-Identifier: MIT
//
// Which launches of a swapped kernel are captured for --swap-verify: the first, the second, the
// fourth, ... until there are enough, since programs often begin with launches that are like no
// others. One that the GPU took before it could be held is made up for by the next. Any thread; no
// locks. Captures themselves come one after the other (swap.cpp).
#pragma once

#include <atomic>
#include <cstdint>

namespace rochound::agent {

class SwapSamples {
 public:
  // A launch that could be captured. True: it should be.
  bool IsDue(uint64_t most) {
    const uint64_t number = seen_.fetch_add(1, std::memory_order_relaxed) + 1;
    number_.store(number, std::memory_order_relaxed);
    return number >= next_.load(std::memory_order_relaxed) &&
           taken_.load(std::memory_order_relaxed) < most;
  }
  // It is being captured.
  void Begin() {
    next_.store(2 * number_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    taken_.fetch_add(1, std::memory_order_relaxed);
  }
  // It was captured, and what was owed with it.
  void Captured() { owed_.store(0, std::memory_order_relaxed); }
  // The GPU was faster, and the next launch is due. False: that was tried often enough.
  bool TakenEarly(uint64_t launch) {
    constexpr uint64_t kMostTries = 64;
    if (tries_.fetch_add(1, std::memory_order_relaxed) >= kMostTries) return false;
    owed_.store(launch, std::memory_order_relaxed);
    next_.store(0, std::memory_order_relaxed);
    taken_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  // The launch that no later one made up for, once; 0: none.
  uint64_t TakeOwed() { return owed_.exchange(0, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> seen_{0}, number_{0}, taken_{0}, next_{1}, tries_{0}, owed_{0};
};

}  // namespace rochound::agent
