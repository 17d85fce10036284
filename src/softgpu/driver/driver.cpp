// SPDX-License-Identifier: MIT
#include "softgpu/driver/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/mutex.h"
#include "contract/variables.h"
#include "softgpu/driver/kfd.h"
#include "softgpu/driver/message.h"

namespace rochound::softgpu {
namespace {

std::atomic<Driver*> g_driver{nullptr};
base::Mutex* g_open_mutex = new base::Mutex;  // replaced in a forked child
std::atomic<SoftgpuTrack> g_track{nullptr};

}  // namespace

Driver* Driver::Current() { return g_driver.load(std::memory_order_acquire); }

void Driver::SetTrack(SoftgpuTrack track) { g_track.store(track); }

Driver* Driver::Open() {
  if (Driver* driver = Current()) return driver;
  const base::Lock lock(*g_open_mutex);
  if (Driver* driver = Current()) return driver;

  const char* root = getenv(contract::variables::kSoftgpuRoot);
  if (root == nullptr) {
    PrintMessage("ROCHOUND_SOFTGPU_ROOT is not set");
    return nullptr;
  }
  auto facts = ReadDeviceTree(root);
  if (!facts.ok()) {
    PrintMessage(facts.error().message);
    return nullptr;
  }
  const char* threads = getenv(contract::variables::kSoftgpuThreads);
  const uint32_t worker_threads =
      threads == nullptr ? 0 : static_cast<uint32_t>(strtoul(threads, nullptr, 10));
  const char* list = getenv(contract::variables::kSoftgpuFaults);
  const auto faults = base::ParseInjectedFaults(list == nullptr ? "" : list);
  if (!faults.ok()) {
    PrintMessage("ROCHOUND_SOFTGPU_FAULTS: " + faults.error().message);
    return nullptr;
  }
  auto* driver = new Driver(std::move(facts).value(), worker_threads, faults.value());

  // Handlers are inherited by the child and cannot be taken back: once is enough for all of them.
  static std::atomic<bool> handlers_installed{false};
  if (!handlers_installed.exchange(true))
    pthread_atfork(&LockBeforeFork, &UnlockAfterFork, &AbandonInChild);
  g_driver.store(driver, std::memory_order_release);
  return driver;
}

Driver::Driver(std::vector<GpuFacts> facts, uint32_t worker_threads,
               const base::InjectedFaults& faults)
    : worker_threads_(worker_threads), faults_(faults) {
  for (GpuFacts& one : facts) {
    auto gpu = std::make_unique<Gpu>();
    gpu->facts = std::move(one);
    gpu->index = static_cast<uint32_t>(gpus_.size());
    gpus_.push_back(std::move(gpu));
  }
}

void Driver::LockBeforeFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  g_open_mutex->lock();
  Driver* driver = Current();
  if (driver == nullptr) return;
  driver->acquire_mutex_.lock();
  driver->drm_mutex_.lock();
  driver->files_mutex_.lock();
  driver->memory_.mutex().lock();
  driver->queues_.mutex().lock();
  driver->events_.mutex().lock();
}

void Driver::UnlockAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  if (Driver* driver = Current()) {
    driver->events_.mutex().unlock();
    driver->queues_.mutex().unlock();
    driver->memory_.mutex().unlock();
    driver->files_mutex_.unlock();
    driver->drm_mutex_.unlock();
    driver->acquire_mutex_.unlock();
  }
  g_open_mutex->unlock();
}

void Driver::AbandonInChild() {
  if (Driver* driver = Current()) {
    for (const auto& gpu : driver->gpus_) {
      if (Device* device = gpu->device.load(std::memory_order_acquire)) device->AbandonAfterFork();
    }
    driver->memory_.AbandonAfterFork();
    g_driver.store(nullptr, std::memory_order_release);
  }
  g_open_mutex = new base::Mutex;
}

Gpu* Driver::FindGpu(uint32_t gpu_id) {
  for (const auto& gpu : gpus_)
    if (gpu->facts.gpu_id == gpu_id) return gpu.get();
  return nullptr;
}

// The descriptor has to be a real one: the program may pass it to fcntl, dup it, or close it. A
// memfd has an inode of its own, by which we can tell later that the number still means this file.
int Driver::NewFile(Gpu* gpu, int flags) {
  const int fd = memfd_create(gpu == nullptr ? "rochound-softgpu-kfd" : "rochound-softgpu-render",
                              (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return -errno;
  {
    const base::Lock lock(files_mutex_);
    files_[fd] = File{gpu, status.st_ino};
  }
  if (SoftgpuTrack track = g_track.load()) track(fd);
  return fd;
}

int Driver::OpenKfd(int flags) { return NewFile(nullptr, flags); }

int Driver::OpenRender(int minor, int flags) {
  for (const auto& gpu : gpus_) {
    if (static_cast<int>(gpu->facts.render_minor) == minor) return NewFile(gpu.get(), flags);
  }
  return -ENOENT;
}

int Driver::InitializeDrm(int fd, Gpu** gpu) {
  Gpu* found = RenderGpu(fd);
  if (found == nullptr) return -EBADF;
  const base::Lock lock(drm_mutex_);
  if (found->drm_references == 0) {
    const int own = NewFile(found, O_CLOEXEC);
    if (own < 0) return own;
    found->drm_fd = own;
  }
  ++found->drm_references;
  *gpu = found;
  return 0;
}

void Driver::DeinitializeDrm(Gpu& gpu) {
  const base::Lock lock(drm_mutex_);
  if (gpu.drm_references == 0 || --gpu.drm_references > 0) return;
  CloseFile(gpu.drm_fd);
  close(gpu.drm_fd);
  gpu.drm_fd = -1;
}

void Driver::CloseFile(int fd) {
  const base::Lock lock(files_mutex_);
  files_.erase(fd);
}

bool Driver::IsKfd(int fd) {
  const base::Lock lock(files_mutex_);
  const auto found = files_.find(fd);
  return found != files_.end() && found->second.gpu == nullptr;
}

Gpu* Driver::RenderGpu(int fd) {
  const base::Lock lock(files_mutex_);
  const auto found = files_.find(fd);
  return found == files_.end() ? nullptr : found->second.gpu;
}

int Driver::Map(int fd, void* address, size_t length, int protection, int flags, int64_t offset,
                void** result) {
  Gpu* render = nullptr;
  {
    const base::Lock lock(files_mutex_);
    const auto found = files_.find(fd);
    struct stat status;
    if (found == files_.end()) return kSoftgpuNotOurs;
    if (fstat(fd, &status) != 0 || status.st_ino != found->second.inode) {
      files_.erase(found);
      return kSoftgpuNotOurs;
    }
    render = found->second.gpu;
  }
  const auto place = static_cast<uint64_t>(offset);
  if (render != nullptr)
    return memory_.MapStorage(address, length, protection, flags, place, result);

  Gpu* gpu = nullptr;
  for (const auto& candidate : gpus_) {
    if ((candidate->facts.gpu_id & 0xFFFF) == kfd::GpuOfMmap(place)) gpu = candidate.get();
  }
  int error = 0;
  switch (place & kfd::kMmapTypeMask) {
    case kfd::kMmapDoorbell:
      if (gpu == nullptr) return -ENODEV;
      error = memory_.MapDoorbells(*gpu, address, length, protection, flags, result);
      break;
    case kfd::kMmapMmio:
      if (gpu == nullptr) return -ENODEV;
      error = memory_.MapMmio(*gpu, address, length, protection, flags, result);
      break;
    default:
      PrintFormatted("mmap of /dev/kfd at offset 0x%llx is not implemented",
                     static_cast<unsigned long long>(place));
      return -EINVAL;
  }
  // As in the kernel's driver (VM_DONTCOPY): a forked child must not ring its parent's doorbells.
  // libhsakmt does the same with the memory that it maps.
  if (error == 0) madvise(*result, length, MADV_DONTFORK);
  return error;
}

int Driver::AcquireVm(Gpu& gpu, int render_fd) {
  if (RenderGpu(render_fd) != &gpu) return -EINVAL;
  const base::Lock lock(acquire_mutex_);
  if (gpu.device.load(std::memory_order_acquire) != nullptr) return 0;
  DeviceConfig config;
  config.name = gpu.facts.name;
  config.target = gpu.facts.target;
  config.gpu_id = gpu.facts.gpu_id;
  config.compute_units = gpu.facts.cu_count;
  config.simds_per_compute_unit = gpu.facts.simd_per_cu;
  config.max_waves_per_simd = gpu.facts.max_waves_per_simd;
  config.xcc_count = gpu.facts.num_xcc;
  config.shader_engines = gpu.facts.shader_engines;
  config.arrays_per_engine = gpu.facts.arrays_per_engine;
  config.lds_bytes = gpu.facts.lds_bytes;
  config.worker_threads = worker_threads_;
  config.shared_aperture_base = kLdsApertureBase;
  config.private_aperture_base = kScratchApertureBase;
  config.faults = faults_;
  std::string error;
  auto device = Device::Create(config, this, &error);
  if (device == nullptr) {
    PrintMessage(error);
    return -ENODEV;
  }
  gpu.device.store(device.release(), std::memory_order_release);
  return 0;
}

int Driver::Control(int fd, unsigned long request, void* argument) {
  if (IsKfd(fd)) return AnswerKfdIoctl(*this, request, argument);
  if (RenderGpu(fd) == nullptr) return -EBADF;
  PrintFormatted("DRM ioctl 0x%lx on a render node is not implemented", request);
  return -ENOTTY;
}

void Driver::KickDevices() {
  for (const auto& gpu : gpus_) {
    if (Device* device = gpu->device.load(std::memory_order_acquire)) device->Kick();
  }
}

void Driver::OnInterrupt(uint32_t, uint32_t event_id) { events_.Interrupt(event_id); }

void Driver::OnMemoryFault(uint32_t gpu_id, uint32_t, const MemoryFault& fault,
                           std::string_view what) {
  PrintMessage(what);
  kfd::MemoryExceptionData data{};
  data.gpu_id = gpu_id;
  data.address =
      fault.address / kGpuPageSize * kGpuPageSize;  // hardware knows no more than the page
  data.not_present = fault.mapped ? 0 : 1;
  data.read_only = fault.mapped && (fault.access & kWrite) != 0 ? 1 : 0;
  data.no_execute = fault.mapped && (fault.access & kExecute) != 0 ? 1 : 0;
  events_.RaiseMemoryException(data);
}

void Driver::OnQueueError(uint32_t, uint32_t queue_id, QueueError error, std::string_view what) {
  PrintMessage(what);
  queues_.ReportError(queue_id, error);
}

void Driver::OnInjectedFault(uint32_t gpu_id, uint32_t queue_id, std::string_view fault,
                             uint64_t packet, std::string_view kernel) {
  const char* path = getenv(contract::variables::kSoftgpuFaultLog);
  if (path == nullptr) return;
  const std::string line = "{\"process\": " + std::to_string(getpid()) +
                           ", \"gpu_id\": " + std::to_string(gpu_id) +
                           ", \"queue\": " + std::to_string(queue_id) + ", \"fault\": \"" +
                           std::string(fault) + "\", \"packet\": " + std::to_string(packet) +
                           ", \"kernel\": \"" + std::string(kernel) + "\"}\n";
  // Appending by one write keeps the lines of several processes whole.
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    PrintFormatted("cannot write %s: %m", path);
  if (file >= 0) close(file);
}

}  // namespace rochound::softgpu
