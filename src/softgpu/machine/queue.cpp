// SPDX-License-Identifier: MIT
#include "softgpu/machine/queue.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "base/mutex.h"
#include "softgpu/machine/lost_pages.h"

namespace rochound::softgpu {

std::thread StartDeviceThread(std::function<void()> body) {
  InstallLostPageHandler();
  // The program's signals are for the program's threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread thread([body = std::move(body)] {
    pthread_setname_np(pthread_self(), "softgpu");
    body();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

Queue::Queue(const QueueConfig& config, const DeviceConfig& device, AddressSpace& space,
             DriverCallbacks* callbacks)
    : config_(config), device_(device), space_(space), callbacks_(callbacks), memory_(space) {}

void Queue::Start() {
  thread_ = StartDeviceThread([this] { Main(); });
}

void Queue::Stop() {
  stopping_.store(true, std::memory_order_relaxed);
  Activity::Instance().Kick();
  if (thread_.joinable()) thread_.join();
}

void Queue::SetPlacement(std::shared_ptr<const Placement> placement) {
  const base::Lock lock(placement_mutex_);
  placement_ = std::move(placement);
}

std::shared_ptr<const Placement> Queue::placement() {
  const base::Lock lock(placement_mutex_);
  if (placement_ == nullptr)
    placement_ = std::make_shared<const Placement>(device_, std::span<const uint32_t>());
  return placement_;
}

void Queue::Update(uint64_t ring_address, uint64_t ring_bytes, uint32_t percentage) {
  paused_.store(ring_bytes == 0 || percentage == 0, std::memory_order_relaxed);
  if (ring_bytes == 0) return;
  const base::Lock lock(ring_mutex_);
  config_.ring_address = ring_address;
  config_.ring_bytes = ring_bytes;
}

void Queue::Main() {
  Activity::Waiter waiter;
  LostPageWatch watch(memory_);
  memory_.Enter();
  while (!stopping()) {
    bool work = false;
    if (!halted_ && !paused_.load(std::memory_order_relaxed)) {
      const base::Lock lock(ring_mutex_);
      work = HasWork();
      if (work) {
        memory_.Refresh();
        Process();
        if (const auto lost = TakeLostPage())
          HaltWithFault(*lost, "memory fault on " + device_.name + ": memory of the program is " +
                                   (lost->mapped ? "read-only" : "gone"));
      }
    }
    if (work) {
      waiter.Reset();
    } else {
      PauseOnce(waiter);
    }
  }
  memory_.Leave();
}

bool Queue::PauseOnce(Activity::Waiter& waiter) {
  memory_.Leave();
  waiter.Pause();
  memory_.Enter();
  return !stopping();
}

void Queue::HaltWithFault(const MemoryFault& fault, std::string_view what) {
  halted_ = true;
  memory_.Leave();
  callbacks_->OnMemoryFault(device_.gpu_id, config_.id, fault, what);
  memory_.Enter();
}

void Queue::HaltWithError(QueueError error, std::string_view what) {
  halted_ = true;
  memory_.Leave();
  callbacks_->OnQueueError(device_.gpu_id, config_.id, error, what);
  memory_.Enter();
}

}  // namespace rochound::softgpu
