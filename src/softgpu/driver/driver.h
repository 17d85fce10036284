// SPDX-License-Identifier: MIT
//
// The emulated kernel driver of one process: everything the program can reach through /dev/kfd, the
// render nodes and libdrm. Made when the program first opens a device and never destroyed, because
// programs free GPU memory after static destructors have run. The program's threads call in through
// core.cpp; the devices' threads call back through DriverCallbacks.
//
// fork: the child starts without a driver, as it would with the real one; descriptors that it has
// inherited answer EBADF until it opens the devices anew. The parent's driver is left behind in the
// child's memory with its locks taken, so that nothing of it is ever used there.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/injected_faults.h"
#include "base/mutex.h"
#include "softgpu/core_interface.h"
#include "softgpu/driver/events.h"
#include "softgpu/driver/gpu.h"
#include "softgpu/driver/memory.h"
#include "softgpu/driver/queues.h"
#include "softgpu/machine/device.h"

namespace rochound::softgpu {

class Driver final : public DriverCallbacks {
 public:
  // The process's driver, made now if there is none; nullptr if the device tree or a setting cannot
  // be read, which is said on stderr.
  static Driver* Open();
  // The process's driver, or nullptr before Open.
  static Driver* Current();
  // What Open and OpenFile tell about new descriptors.
  static void SetTrack(SoftgpuTrack track);

  Driver(std::vector<GpuFacts> facts, uint32_t worker_threads, const base::InjectedFaults& faults);

  // Descriptors. -errno for failure.
  int OpenKfd(int flags);
  int OpenRender(int minor, int flags);
  void CloseFile(int fd);
  bool IsKfd(int fd);
  // The GPU of a render node's descriptor, or nullptr.
  Gpu* RenderGpu(int fd);

  // libdrm's device handle for a render node is its Gpu, counted. While it is not given back it has
  // a descriptor of its own, as libdrm's has.
  int InitializeDrm(int fd, Gpu** gpu);
  void DeinitializeDrm(Gpu& gpu);

  int Control(int fd, unsigned long request, void* argument);
  int Map(int fd, void* address, size_t length, int protection, int flags, int64_t offset,
          void** result);

  // Makes the GPU's Device, if there is none yet, for the process that opened this render node.
  int AcquireVm(Gpu& gpu, int render_fd);
  // Somebody is going to wait: have the devices look at their doorbells.
  void KickDevices();

  const std::vector<std::unique_ptr<Gpu>>& gpus() const { return gpus_; }
  Gpu* FindGpu(uint32_t gpu_id);
  MemoryManager& memory() { return memory_; }
  EventTable& events() { return events_; }
  QueueTable& queues() { return queues_; }

  void OnInterrupt(uint32_t gpu_id, uint32_t event_id) override;
  void OnMemoryFault(uint32_t gpu_id, uint32_t queue_id, const MemoryFault& fault,
                     std::string_view what) override;
  void OnQueueError(uint32_t gpu_id, uint32_t queue_id, QueueError error,
                    std::string_view what) override;
  // Appends a line of JSON to the file that ROCHOUND_SOFTGPU_FAULT_LOG names, if there is one.
  void OnInjectedFault(uint32_t gpu_id, uint32_t queue_id, std::string_view fault, uint64_t packet,
                       std::string_view kernel) override;

 private:
  struct File {
    Gpu* gpu = nullptr;  // nullptr: /dev/kfd
    uint64_t inode = 0;
  };

  // Held from the one to the other: the analysis sees a function at a time.
  static void LockBeforeFork();
  static void UnlockAfterFork();
  static void AbandonInChild();

  int NewFile(Gpu* gpu, int flags);

  std::vector<std::unique_ptr<Gpu>> gpus_;
  const uint32_t worker_threads_;
  const base::InjectedFaults faults_;
  EventTable events_;
  MemoryManager memory_{gpus_};
  QueueTable queues_{memory_, events_};

  base::Mutex files_mutex_;
  std::map<int, File> files_ ROCHOUND_GUARDED_BY(files_mutex_);
  base::Mutex drm_mutex_;
  base::Mutex acquire_mutex_;
};

}  // namespace rochound::softgpu
