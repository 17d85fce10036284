// SPDX-License-Identifier: MIT
#include <map>
#include <utility>

#include "base/mutex.h"
#include "softgpu/counters/access_trace.h"
#include "softgpu/counters/dispatch_counters.h"
#include "softgpu/isa/disassembler.h"
#include "softgpu/machine/activity.h"
#include "softgpu/machine/aql_queue.h"
#include "softgpu/machine/device.h"
#include "softgpu/machine/dispatch.h"
#include "softgpu/machine/sdma_queue.h"

namespace rochound::softgpu {
namespace {

class SoftDevice : public Device {
 public:
  SoftDevice(const DeviceConfig& config, const Architecture& architecture,
             DriverCallbacks* callbacks)
      : config_(config), architecture_(architecture), callbacks_(callbacks), code_(architecture) {
    if (config.worker_threads != 0) HelperThreads::Instance().SetParallelism(config.worker_threads);
  }

  const DeviceConfig& config() const override { return config_; }
  AddressSpace& address_space() override { return space_; }

  void CreateQueue(const QueueConfig& config) override {
    std::unique_ptr<Queue> queue;
    if (config.kind == QueueKind::kAql) {
      queue = std::make_unique<AqlQueue>(config, config_, architecture_, space_, callbacks_, &code_,
                                         &global_wave_sync_, &instructions_);
    } else {
      queue = std::make_unique<SdmaQueue>(config, config_, space_, callbacks_);
    }
    queue->Start();
    const base::Lock lock(mutex_);
    queues_[config.id] = std::move(queue);
  }

  void UpdateQueue(uint32_t queue_id, uint64_t ring_address, uint64_t ring_bytes,
                   uint32_t percentage) override {
    std::shared_ptr<Queue> queue;
    {
      const base::Lock lock(mutex_);
      auto it = queues_.find(queue_id);
      if (it == queues_.end()) return;
      queue = it->second;
    }
    queue->Update(ring_address, ring_bytes, percentage);
  }

  void SetCuMask(uint32_t queue_id, std::span<const uint32_t> mask) override {
    const base::Lock lock(mutex_);
    auto it = queues_.find(queue_id);
    if (it != queues_.end())
      it->second->SetPlacement(std::make_shared<const Placement>(config_, mask));
  }

  void DestroyQueue(uint32_t queue_id) override {
    std::shared_ptr<Queue> queue;
    {
      const base::Lock lock(mutex_);
      auto it = queues_.find(queue_id);
      if (it == queues_.end()) return;
      queue = std::move(it->second);
      queues_.erase(it);
    }
    queue->Stop();
  }

  void Kick() override { Activity::Instance().Kick(); }

  uint64_t instructions_executed() const override {
    return instructions_.load(std::memory_order_relaxed);
  }

  void AbandonAfterFork() override ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
    // Neither locks nor threads of the parent mean anything here; what they held is leaked.
    new (&mutex_) base::Mutex;
    for (auto& [id, queue] : queues_) new std::shared_ptr<Queue>(std::move(queue));
    new (&queues_) std::map<uint32_t, std::shared_ptr<Queue>>;
    new (&code_) DeviceCode(architecture_);
    new (&space_) AddressSpace;
    HelperThreads::Instance().AbandonAfterFork();
    CounterRecorder::Instance().AbandonAfterFork();
    AccessRecorder::Instance().AbandonAfterFork();
  }

 private:
  const DeviceConfig config_;
  const Architecture& architecture_;
  DriverCallbacks* const callbacks_;
  AddressSpace space_;
  DeviceCode code_;
  GlobalWaveSync global_wave_sync_;
  std::atomic<uint64_t> instructions_{0};
  base::Mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Queue>> queues_ ROCHOUND_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Device> Device::Create(const DeviceConfig& config, DriverCallbacks* callbacks,
                                       std::string* error) {
  const Architecture* architecture = FindArchitecture(config.target);
  if (architecture == nullptr) {
    *error = "no instruction semantics for target " + config.target;
    return nullptr;
  }
  if (!Disassembler::Knows(config.target)) {
    *error = "the LLVM that this build uses is too old for target " + config.target;
    return nullptr;
  }
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2")) {
    *error = "this processor lacks AVX2, FMA or BMI2, which the software GPU is built for";
    return nullptr;
  }
  return std::make_unique<SoftDevice>(config, *architecture, callbacks);
}

}  // namespace rochound::softgpu
