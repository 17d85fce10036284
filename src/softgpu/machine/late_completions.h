// SPDX-License-Identifier: MIT
//
// Completions of one queue that come later than they could, in any order: a GPU owes nobody an
// order between kernels without a barrier. A thread of its own delivers them, because the queue's
// thread may be running a kernel that waits for one. Filled by the queue's thread; what is left at
// the end is delivered then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <thread>

#include "base/mutex.h"
#include "softgpu/machine/device.h"
#include "softgpu/machine/signal.h"

namespace rochound::softgpu {

class LateCompletions {
 public:
  LateCompletions(AddressSpace& space, uint32_t gpu_id, DriverCallbacks* callbacks);
  ~LateCompletions();
  LateCompletions(const LateCompletions&) = delete;
  LateCompletions& operator=(const LateCompletions&) = delete;

  // Completes the signal after so many nanoseconds, with these times.
  void Add(uint64_t signal, const std::optional<PacketTimes>& times, uint64_t delay_ns);
  // Nothing is left to deliver.
  bool Empty();

 private:
  struct Completion {
    uint64_t signal = 0;
    std::optional<PacketTimes> times;
  };
  void Main();

  AddressSpace& space_;
  const uint32_t gpu_id_;
  DriverCallbacks* const callbacks_;
  base::Mutex mutex_;
  base::Condition changed_;
  std::multimap<uint64_t, Completion> due_ ROCHOUND_GUARDED_BY(mutex_);  // by base::MonotonicRawNs
  bool delivering_ ROCHOUND_GUARDED_BY(mutex_) = false;
  bool stopping_ ROCHOUND_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace rochound::softgpu
