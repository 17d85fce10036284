// SPDX-License-Identifier: MIT
#include "softgpu/machine/late_completions.h"

#include <chrono>

#include "base/check.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "softgpu/machine/activity.h"
#include "softgpu/machine/lost_pages.h"
#include "softgpu/machine/queue.h"

namespace rochound::softgpu {

LateCompletions::LateCompletions(AddressSpace& space, uint32_t gpu_id, DriverCallbacks* callbacks)
    : space_(space), gpu_id_(gpu_id), callbacks_(callbacks) {
  thread_ = StartDeviceThread([this] { Main(); });
}

LateCompletions::~LateCompletions() {
  {
    const base::Lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LateCompletions::Add(uint64_t signal, const std::optional<PacketTimes>& times,
                          uint64_t delay_ns) {
  {
    const base::Lock lock(mutex_);
    due_.emplace(base::MonotonicRawNs() + delay_ns, Completion{signal, times});
  }
  changed_.notify_all();
}

bool LateCompletions::Empty() {
  const base::Lock lock(mutex_);
  return due_.empty() && !delivering_;
}

void LateCompletions::Main() {
  AddressSpace::Reader memory(space_);
  LostPageWatch watch(memory);
  base::UniqueLock lock(mutex_);
  while (!stopping_ || !due_.empty()) {
    if (due_.empty()) {
      changed_.Wait(mutex_);
      continue;
    }
    const uint64_t now = base::MonotonicRawNs();
    const uint64_t first = due_.begin()->first;
    if (first > now && !stopping_) {
      changed_.WaitFor(mutex_, std::chrono::nanoseconds(first - now));
      continue;
    }
    const Completion one = due_.begin()->second;
    due_.erase(due_.begin());
    ROCHOUND_DCHECK(!delivering_);
    delivering_ = true;
    lock.unlock();
    memory.Enter();
    uint64_t bad = 0;  // memory that is gone by now is nobody's to complete
    CompleteSignal(memory, one.signal, one.times, gpu_id_, callbacks_, &bad);
    TakeLostPage();
    memory.Leave();
    lock.lock();
    delivering_ = false;
    Activity::Instance().Kick();  // the queue may wait for us at a barrier
  }
}

}  // namespace rochound::softgpu
