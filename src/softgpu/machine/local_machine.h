// SPDX-License-Identifier: MIT
//
// A device without any runtime or driver, for the machine's own tests and for the benchmark: loads
// a code object, submits AQL packets, waits for their signals. Single-threaded use.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "softgpu/machine/device.h"

namespace rochound::softgpu {

class LocalMachine : private DriverCallbacks {
 public:
  // Aborts the process on failure: there is nothing to test then.
  explicit LocalMachine(const DeviceConfig& config);
  ~LocalMachine() override;

  static DeviceConfig Mi300x();
  static DeviceConfig Rx6800xt();

  Device& device() { return *device_; }

  // GPU memory of this many bytes, read and write; the GPU's address is this process's.
  void* Allocate(size_t bytes);

  // Loads an ELF code object (AMDHSA, no relocations) and returns the address of a kernel's
  // descriptor, 0 if it has none of that name.
  void LoadCodeObject(const std::string& path);
  uint64_t KernelObject(std::string_view name) const;

  // A kernel of these words, in the device's smallest wave size; returns its kernel object. The
  // code starts 256 bytes into its first page and ends with its last one.
  uint64_t LoadWords(const std::vector<uint32_t>& words);
  unsigned WaveSize() const;  // of kernels made by LoadWords

  struct Launch {
    uint64_t kernel_object = 0;
    uint32_t grid = 1;
    uint16_t group = 1;
    const void* kernarg = nullptr;
    uint32_t group_bytes = 0;
    uint32_t grid_y = 1;
    uint16_t group_y = 1;
    uint32_t private_bytes = 0;  // per lane, at most what GiveScratch gave
    uint64_t signal = 0;         // the GPU's address of one of the caller's; 0: the shared one
    bool barrier = false;
  };
  // Scratch memory for this many waves at once. Before the first kernel that uses it.
  void GiveScratch(uint32_t bytes_per_lane, uint32_t waves);

  // From now on packets leave their times in their signals; a queue begins without.
  void SwitchTimesOn();

  // Submits, without waiting. Every launch without a signal of its own completes one shared signal.
  void Submit(const Launch& launch);
  // The same in two steps: the packet, then the doorbell.
  uint64_t Enqueue(const Launch& launch);  // the packet's index
  void Ring(uint64_t index);
  uint64_t ReadIndex() const;
  // Waits for all that completes the shared signal. False if the queue was halted: error() says
  // why.
  bool Wait();
  std::string error() const;

  struct Injected {
    std::string fault;
    uint64_t packet = 0;
  };
  std::vector<Injected> injected() const;

 private:
  struct QueueMemory;
  void OnInterrupt(uint32_t, uint32_t) override {}
  void OnMemoryFault(uint32_t, uint32_t, const MemoryFault&, std::string_view what) override;
  void OnQueueError(uint32_t, uint32_t, QueueError, std::string_view what) override;
  void OnInjectedFault(uint32_t, uint32_t, std::string_view fault, uint64_t packet,
                       std::string_view kernel) override;

  std::unique_ptr<Device> device_;
  QueueMemory* queue_ = nullptr;
  volatile uint64_t doorbell_ = ~uint64_t{0};
  uint64_t write_index_ = 0;
  std::vector<std::pair<std::string, uint64_t>> kernels_;
  mutable base::Mutex mutex_;
  std::string error_ ROCHOUND_GUARDED_BY(mutex_);
  std::vector<Injected> injected_ ROCHOUND_GUARDED_BY(mutex_);
};

}  // namespace rochound::softgpu
