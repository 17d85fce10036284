// SPDX-License-Identifier: MIT
//
// Where the threads of all software GPUs in this process wait for something to happen. What they
// wait for is a change in memory (a doorbell, a signal) that the program makes without telling
// anyone, so every wait is a poll with growing pauses; a Kick ends the pauses at once. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace rochound::softgpu {

class Activity {
 public:
  static Activity& Instance();

  // Something may have changed: wakes everybody who pauses. Cheap when nobody does.
  void Kick();

  // One waiter's growing patience. Make one per wait, call Pause until the condition holds.
  class Waiter {
   public:
    void Pause();
    void Reset() { rounds_ = 0; }

   private:
    uint32_t rounds_ = 0;
  };

 private:
  void Sleep(uint32_t microseconds);

  std::atomic<uint32_t> sequence_{0};
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace rochound::softgpu
