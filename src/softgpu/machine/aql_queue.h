// SPDX-License-Identifier: MIT
//
// A user-mode AQL queue: takes packets in order, waits for barriers, runs kernels, completes
// signals. Packets of one queue run one after another, which AQL allows; queues run concurrently.
#pragma once

#include <hsa/hsa.h>

#include <memory>
#include <optional>

#include "base/mutex.h"
#include "softgpu/counters/dispatch_record.h"
#include "softgpu/isa/code_cache.h"
#include "softgpu/machine/global_wave_sync.h"
#include "softgpu/machine/kernel.h"
#include "softgpu/machine/late_completions.h"
#include "softgpu/machine/queue.h"

namespace rochound::softgpu {

// The decoded code of a device, renewed when the program has changed code.
class DeviceCode {
 public:
  explicit DeviceCode(const Architecture& architecture) : architecture_(architecture) {}
  std::shared_ptr<CodeCache> Get(unsigned wave_size, AddressSpace::Reader& memory);
  // The program flushed the instruction cache.
  void Invalidate();

 private:
  struct Entry {
    std::shared_ptr<CodeCache> cache;
    bool doubtful = false;
    uint64_t code_changes = 0;  // of the page map when last compared with memory
  };
  const Architecture& architecture_;
  base::Mutex mutex_;
  Entry wave32_ ROCHOUND_GUARDED_BY(mutex_);
  Entry wave64_ ROCHOUND_GUARDED_BY(mutex_);
};

class AqlQueue : public Queue {
 public:
  AqlQueue(const QueueConfig& config, const DeviceConfig& device, const Architecture& architecture,
           AddressSpace& space, DriverCallbacks* callbacks, DeviceCode* code,
           GlobalWaveSync* global_wave_sync, std::atomic<uint64_t>* instructions);
  ~AqlQueue() override;

 protected:
  bool HasWork() override;
  void Process() override;

 private:
  union Packet;

  void RunKernel(const hsa_kernel_dispatch_packet_t& packet, uint64_t packet_address);
  DispatchIdentity Identify(const Kernel& kernel);
  void RunBarrier(const hsa_barrier_and_packet_t& packet, bool all);
  void RunVendor(const Packet& packet);
  // Sets the kernel's scratch up, asking the runtime for more if need be. False: halted or stopped.
  bool EnsureScratch(const Kernel& kernel, QueueFacts* facts, uint64_t* bytes_per_wave,
                     uint32_t* wave_slots);
  void ReleaseOneTimeScratch();
  // False if the queue stops first.
  template <typename Condition>
  bool WaitUntil(Condition condition);
  // Of a packet that ends now; none, unless the runtime has switched time stamps of this queue on.
  std::optional<PacketTimes> TimesSince(uint64_t start);
  void Complete(uint64_t signal, uint64_t start);
  // Whether the next packet has been written.
  bool NextIsValid();
  uint64_t WriteIndex();  // 0: not mapped
  // The next packet too, if it is there already: its doorbell may have been overwritten.
  bool TakeStranded();
  // Whether the queue is unmapped for now, after it was rung up to this packet. What the write
  // index covers when it is mapped again may be taken.
  bool IsUnmapped(bool rung);
  // The packet is done: frees its slot and completes its signal.
  void Finish(uint64_t signal, uint64_t start);
  // Frees its slot. False: halted.
  bool FreeSlot();
  bool Happens(uint32_t base::InjectedFaults::* fault) const {
    return device_.faults.Happens(fault, config_.id, read_index_);
  }
  void ReportInjected(std::string_view fault, uint64_t packet, uint64_t kernel_object);
  void FaultAt(uint64_t address, uint8_t access, std::string_view doing);
  template <typename T>
  T* QueueField(size_t offset);

  const Architecture& architecture_;
  DeviceCode* const code_;
  GlobalWaveSync* const global_wave_sync_;
  std::atomic<uint64_t>* const instructions_;
  const uint64_t queue_address_;  // of amd_queue_t
  uint64_t read_index_ = 0;
  uint64_t last_submitted_plus_1_ = 0;  // highest doorbell value seen, plus one
  uint64_t stranded_index_ = 0;         // a valid packet that no doorbell covers, seen
  uint64_t stranded_since_ns_ = 0;      // since then; 0: none
  uint64_t unmapped_until_ns_ = 0;      // 0: mapped
  uint64_t mapped_write_index_ = 0;     // the write index when the queue was last mapped
  // For kernels, which read their packet, when the program may overwrite it: a page, or nullptr.
  hsa_kernel_dispatch_packet_t* packet_copy_ = nullptr;
  std::unique_ptr<LateCompletions> late_;  // nullptr: none comes late
};

}  // namespace rochound::softgpu
