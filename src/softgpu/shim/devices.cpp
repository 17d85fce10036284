// SPDX-License-Identifier: MIT
#include "softgpu/shim/devices.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "softgpu/shim/redirect.h"

namespace rochound::softgpu::shim {
namespace {

// Indexed by descriptor. Whoever has more descriptors than this cannot open a GPU with them.
constexpr int kMaxDescriptors = 1 << 16;
std::atomic<bool> g_ours[kMaxDescriptors];
std::atomic<pid_t> g_pid{0};  // the process that g_ours was written in

std::atomic<const SoftgpuCore*> g_core{nullptr};
std::atomic<bool> g_core_failed{false};

constexpr char kCoreName[] = "librochound_softgpu_core.so";

void Track(int fd) {
  if (fd < 0 || fd >= kMaxDescriptors) return;
  g_pid.store(getpid(), std::memory_order_relaxed);
  g_ours[fd].store(true, std::memory_order_release);
}

void PrintMessage(const char* first, const char* second) {
  char line[1024] = "rochound softgpu: ";
  strncat(line, first, sizeof(line) / 3);
  if (second != nullptr) strncat(line, second, sizeof(line) / 3);
  strcat(line, "\n");
  if (write(STDERR_FILENO, line, strlen(line)) < 0) return;  // nobody to tell
}

// Two threads may do this at once: dlopen gives both the same library and the entry the same table.
// A lock of our own around dlopen could deadlock with the loader's.
const SoftgpuCore* LoadCore() {
  Dl_info self;
  char path[PATH_MAX];
  if (dladdr(reinterpret_cast<void*>(&LoadCore), &self) == 0 || self.dli_fname == nullptr ||
      strlen(self.dli_fname) + sizeof(kCoreName) >= sizeof(path)) {
    PrintMessage("cannot find out where the shim is", nullptr);
    return nullptr;
  }
  strcpy(path, self.dli_fname);
  char* slash = strrchr(path, '/');
  strcpy(slash == nullptr ? path : slash + 1, kCoreName);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    PrintMessage("cannot load the core: ", dlerror());
    return nullptr;
  }
  const auto entry =
      reinterpret_cast<SoftgpuCoreEntry>(dlsym(library, ROCHOUND_SOFTGPU_CORE_ENTRY));
  if (entry == nullptr) {
    PrintMessage("not a core: ", path);
    return nullptr;
  }
  return entry(ROCHOUND_SOFTGPU_CORE_VERSION, &Track);
}

}  // namespace

const SoftgpuCore* LoadedCore() { return g_core.load(std::memory_order_acquire); }

const SoftgpuCore* Core() {
  const SoftgpuCore* core = LoadedCore();
  if (core != nullptr) return core;
  if (Root() == nullptr || g_core_failed.load(std::memory_order_relaxed)) return nullptr;
  core = LoadCore();
  if (core == nullptr)
    g_core_failed.store(true, std::memory_order_relaxed);
  else
    g_core.store(core, std::memory_order_release);
  return core;
}

bool OpenDevice(const char* path, int flags, int* fd) {
  int minor = 0;
  const DeviceFile device = ClassifyDevice(path, &minor);
  if (device == DeviceFile::kNone) return false;
  const SoftgpuCore* core = Core();
  if (core == nullptr) {
    *fd = Returned(-ENODEV);
    return true;
  }
  *fd = Returned(device == DeviceFile::kKfd ? core->open_kfd(flags)
                                            : core->open_render(minor, flags));
  if (*fd >= kMaxDescriptors) {
    close(*fd);
    *fd = Returned(-EMFILE);
  }
  return true;
}

bool IsOurs(int fd) {
  return fd >= 0 && fd < kMaxDescriptors && g_ours[fd].load(std::memory_order_acquire);
}

bool InOwningProcess() { return getpid() == g_pid.load(std::memory_order_relaxed); }

void Forget(int fd) { g_ours[fd].store(false, std::memory_order_release); }

int Returned(int result) {
  if (result >= 0) return result;
  errno = -result;
  return -1;
}

}  // namespace rochound::softgpu::shim
