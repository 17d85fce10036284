// SPDX-License-Identifier: MIT
//
// What AQL and SDMA queues share: a thread that waits for the doorbell and processes what was
// submitted, until the queue is stopped or halted by an error. Created, updated and stopped by the
// driver's threads; everything else happens on the queue's own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "base/mutex.h"
#include "softgpu/machine/activity.h"
#include "softgpu/machine/device.h"
#include "softgpu/machine/placement.h"

namespace rochound::softgpu {

// A thread of a device: none of the program's signals reach it.
std::thread StartDeviceThread(std::function<void()> body);

class Queue {
 public:
  Queue(const QueueConfig& config, const DeviceConfig& device, AddressSpace& space,
        DriverCallbacks* callbacks);
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void Start();
  void Stop();  // returns when the thread is gone
  void Update(uint64_t ring_address, uint64_t ring_bytes, uint32_t percentage);
  void SetPlacement(std::shared_ptr<const Placement> placement);

 protected:
  std::shared_ptr<const Placement> placement();

  // True if the doorbell covers work that has not been processed.
  virtual bool HasWork() ROCHOUND_REQUIRES(ring_mutex_) = 0;
  // Processes some of it. The Reader is entered.
  virtual void Process() ROCHOUND_REQUIRES(ring_mutex_) = 0;

  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
  const std::atomic<bool>& stopping_flag() const { return stopping_; }

  // Waits a little, with the Reader left. False if the queue is to stop.
  bool PauseOnce(Activity::Waiter& waiter);

  // The queue stays as it is from now on.
  void HaltWithFault(const MemoryFault& fault, std::string_view what);
  void HaltWithError(QueueError error, std::string_view what);

  QueueConfig config_;
  const DeviceConfig& device_;
  AddressSpace& space_;
  DriverCallbacks* const callbacks_;
  AddressSpace::Reader memory_;
  base::Mutex ring_mutex_;  // held while processing and while the ring is changed

 private:
  void Main();

  std::atomic<bool> stopping_{false};
  std::atomic<bool> paused_{false};
  bool halted_ = false;
  base::Mutex placement_mutex_;
  std::shared_ptr<const Placement> placement_ ROCHOUND_GUARDED_BY(placement_mutex_);
  std::thread thread_;
};

}  // namespace rochound::softgpu
