// SPDX-License-Identifier: MIT
//
// One software GPU in this process, as its driver sees it: an address space, and queues that the
// driver creates and destroys and that the device's own threads process. Calls come from any thread
// of the program (inside an ioctl); callbacks into DriverCallbacks come from the device's threads.
// A Device is never destroyed: programs free GPU memory after static destructors have run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/injected_faults.h"
#include "softgpu/memory/address_space.h"
#include "softgpu/memory/gpu_clock.h"

namespace rochound::softgpu {

// What a device is made of. Filled from the prepared tree (see devices/README.md).
struct DeviceConfig {
  std::string name;    // "mi300x"
  std::string target;  // "gfx942"
  uint32_t gpu_id = 0;
  uint32_t compute_units = 0;
  uint32_t simds_per_compute_unit = 0;
  uint32_t max_waves_per_simd = 0;
  uint32_t xcc_count = 1;
  uint32_t shader_engines = 1;  // of all dies
  uint32_t arrays_per_engine = 1;
  uint32_t lds_bytes = 65536;
  uint32_t worker_threads = 0;  // 0: one per core
  // Where local (LDS) and private (scratch) memory appear in flat addresses: bits 63:48 only.
  uint64_t shared_aperture_base = 0;
  uint64_t private_aperture_base = 0;
  base::InjectedFaults faults;  // that the device injects itself
};

enum class QueueKind { kAql, kSdma };

struct QueueConfig {
  uint32_t id = 0;
  QueueKind kind = QueueKind::kAql;
  uint64_t ring_address = 0;  // GPU address
  uint64_t ring_bytes = 0;
  uint64_t read_index_address =
      0;  // GPU address of the 64-bit read index (AQL: inside amd_queue_t)
  uint64_t write_index_address = 0;  // GPU address of the 64-bit write index
  // In this process. The driver sets it to all ones before CreateQueue; AQL: the program stores the
  // index of the last packet it submitted; SDMA: the write index in bytes.
  volatile uint64_t* doorbell = nullptr;
};

struct MemoryFault {
  uint64_t address = 0;  // of the first byte that could not be accessed
  uint8_t access = 0;    // what was tried: one Access bit
  bool mapped = false;   // mapped, but not for this access
};

// Why a queue stopped, other than by a memory fault.
enum class QueueError {
  kIllegalInstruction,  // undefined or unimplemented
  kApertureViolation,   // LDS or scratch access outside of what the wave has
  kMemoryViolation,     // misaligned atomic and the like
  kTrap,                // s_trap 2: abort or assert in a kernel
  kInvalidPacket,       // packet type or field that AQL does not allow
  kInvalidKernel,       // kernel object that is no kernel descriptor, or does not fit the device
  kInactivated,         // nothing is wrong: an injected fault
};

class DriverCallbacks {
 public:
  virtual ~DriverCallbacks() = default;
  // The GPU raised an interrupt with this event id in its context (s_sendmsg, signal completion,
  // SDMA trap). Must not block on anything that waits for AddressSpace::Unmap.
  virtual void OnInterrupt(uint32_t gpu_id, uint32_t event_id) = 0;
  // The queue has been halted and stays so until it is destroyed. `what` is one line for a person:
  // the instruction, its address, the kernel and the device.
  virtual void OnMemoryFault(uint32_t gpu_id, uint32_t queue_id, const MemoryFault& fault,
                             std::string_view what) = 0;
  virtual void OnQueueError(uint32_t gpu_id, uint32_t queue_id, QueueError error,
                            std::string_view what) = 0;
  // An injected fault that takes something away from whoever looks on: which packet it was and, of
  // a kernel's, the name.
  virtual void OnInjectedFault(uint32_t, uint32_t, std::string_view /*fault*/, uint64_t /*packet*/,
                               std::string_view /*kernel*/) {}
};

class Device {
 public:
  // nullptr and a message in *error if the target is not implemented.
  static std::unique_ptr<Device> Create(const DeviceConfig& config, DriverCallbacks* callbacks,
                                        std::string* error);
  virtual ~Device() = default;

  virtual const DeviceConfig& config() const = 0;
  virtual AddressSpace& address_space() = 0;

  virtual void CreateQueue(const QueueConfig& config) = 0;
  // New ring (UPDATE_QUEUE); ring_bytes 0 or percentage 0 pauses the queue until the next update.
  virtual void UpdateQueue(uint32_t queue_id, uint64_t ring_address, uint64_t ring_bytes,
                           uint32_t percentage) = 0;
  // Dispatches that start from now on run on these compute units (see Placement).
  virtual void SetCuMask(uint32_t queue_id, std::span<const uint32_t> mask) = 0;
  // Returns when no thread of the device touches the queue any more. Work in flight is abandoned at
  // the next instruction boundary.
  virtual void DestroyQueue(uint32_t queue_id) = 0;
  // A doorbell may have been rung: cheap, called whenever the program enters the driver to wait.
  virtual void Kick() = 0;
  // Wave instructions run by all finished dispatches.
  virtual uint64_t instructions_executed() const = 0;
  // In the child after fork: no thread of the device exists here any more; forget all queues.
  virtual void AbandonAfterFork() = 0;
};

}  // namespace rochound::softgpu
