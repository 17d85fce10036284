// SPDX-License-Identifier: MIT
//
// One kernel dispatch in flight. The queue's thread runs its workgroups; helper threads of the
// process join when there is enough to do. Each participant keeps the workgroups it has begun and
// gives them turns; a new one is begun when none is left or all of them wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "softgpu/counters/access_trace.h"
#include "softgpu/counters/dispatch_counters.h"
#include "softgpu/isa/code_cache.h"
#include "softgpu/machine/global_wave_sync.h"
#include "softgpu/machine/placement.h"
#include "softgpu/machine/workgroup.h"

namespace rochound::softgpu {

// Why a dispatch failed. The first failure counts.
struct DispatchFailure {
  StopReason reason = StopReason::kNone;
  MemoryFault fault;
  std::string what;
};

class Dispatch : public WaveEnvironment {
 public:
  struct Parameters {
    const Kernel* kernel = nullptr;
    const DeviceConfig* device = nullptr;
    const Architecture* architecture = nullptr;
    AddressSpace* address_space = nullptr;
    DriverCallbacks* callbacks = nullptr;
    std::shared_ptr<CodeCache> code;
    uint64_t scratch_base = 0;  // 0: the kernel uses none
    uint64_t scratch_bytes_per_wave = 0;
    uint32_t scratch_wave_slots = 0;
    std::shared_ptr<const Placement> placement;
    const std::atomic<bool>* queue_stopping = nullptr;
    softgpu::GlobalWaveSync* global_wave_sync = nullptr;
    DispatchCounters* counters = nullptr;        // nullptr: not counted
    const DispatchAccesses* accesses = nullptr;  // with counters only; nullptr: not written
  };

  explicit Dispatch(Parameters parameters);

  // Runs it to its end, with helpers if they are worth it. The Reader is the calling thread's.
  void Run(const std::shared_ptr<Dispatch>& self, AddressSpace::Reader& memory);

  // A helper thread takes part for as long as there is something to begin.
  void Help(AddressSpace::Reader& memory);
  bool WantsHelp() const;

  // After Run, when nobody takes part any more.
  const std::optional<DispatchFailure>& failure() const ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
    return failure_;
  }
  uint64_t instructions() const { return instructions_.load(std::memory_order_relaxed); }
  AddressSpace& address_space() { return *parameters_.address_space; }

  void SendInterrupt(uint32_t context) override;
  bool GlobalWaveSync(Wave& wave, const Op* op, uint32_t value) override;

 private:
  void Participate(AddressSpace::Reader& memory, const std::shared_ptr<Dispatch>* offer);
  bool Begin(AddressSpace::Reader& memory, Workgroup* group, bool is_first,
             const CountInto& counting);
  bool TakeScratch(ScratchSlots* scratch);
  void GiveScratch(const ScratchSlots& scratch);
  void Fail(const Workgroup& group, AddressSpace::Reader& memory);
  // The program's memory has gone away underneath the GPU.
  void FailLost(const MemoryFault& fault, AddressSpace::Reader& memory);
  bool Cancelled() const;

  Parameters parameters_;
  const uint64_t group_count_;  // of the kernel, which may be gone before we are
  std::atomic<bool> over_{false};
  const Op* entry_ = nullptr;
  // Every participant changes these for every workgroup: each has a cache line to itself.
  alignas(64) std::atomic<uint64_t> next_group_{0};
  alignas(64) std::atomic<uint64_t> resident_waves_{0};
  alignas(64) std::atomic<uint64_t> instructions_{0};
  uint64_t max_resident_waves_ = 0;
  std::atomic<bool> cancelled_{false};

  base::Mutex mutex_;
  base::Condition idle_;
  unsigned helpers_ ROCHOUND_GUARDED_BY(mutex_) = 0;
  std::vector<uint32_t> free_scratch_ ROCHOUND_GUARDED_BY(mutex_);
  std::optional<DispatchFailure> failure_ ROCHOUND_GUARDED_BY(mutex_);
};

// The helper threads of this process, shared by all devices and queues.
class HelperThreads {
 public:
  static HelperThreads& Instance();
  // Threads that may run waves at once, the queue's own included. Set before the first Offer.
  void SetParallelism(unsigned threads);
  void Offer(const std::shared_ptr<Dispatch>& dispatch);
  void AbandonAfterFork();

 private:
  void Main();

  base::Mutex mutex_;
  base::Condition work_;
  std::vector<std::shared_ptr<Dispatch>> offers_ ROCHOUND_GUARDED_BY(mutex_);
  unsigned parallelism_ ROCHOUND_GUARDED_BY(mutex_) = 0;
  unsigned started_ ROCHOUND_GUARDED_BY(mutex_) = 0;
  size_t turn_ ROCHOUND_GUARDED_BY(mutex_) = 0;
};

}  // namespace rochound::softgpu
