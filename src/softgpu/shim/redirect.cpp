// SPDX-License-Identifier: MIT
#include "softgpu/shim/redirect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "contract/variables.h"

namespace rochound::softgpu::shim {
namespace {

enum RootState { kUndecided, kDeciding, kAbsent, kPresent };

std::atomic<int> g_root_state{kUndecided};
char g_root[PATH_MAX];

// Everything at or below these is looked up in the tree, where what does not exist does not exist:
// a real card in the machine must not show through.
constexpr const char* kPrefixes[] = {
    "/sys/devices/virtual/kfd", "/sys/class/kfd", "/sys/class/drm",
    "/sys/module/amdgpu",       "/proc/modules",
};

bool IsAtOrBelow(const char* path, const char* prefix) {
  const size_t length = strlen(prefix);
  return strncmp(path, prefix, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

}  // namespace

const char* Root() {
  int state = g_root_state.load(std::memory_order_acquire);
  if (state == kPresent) return g_root;
  if (state == kAbsent || environ == nullptr) return nullptr;
  const char* value = getenv(contract::variables::kSoftgpuRoot);
  const bool present = value != nullptr && value[0] == '/' && strlen(value) < sizeof(g_root) / 2;
  if (state == kUndecided &&
      g_root_state.compare_exchange_strong(state, kDeciding, std::memory_order_acq_rel)) {
    if (present) strcpy(g_root, value);
    g_root_state.store(present ? kPresent : kAbsent, std::memory_order_release);
  }
  return present ? value : nullptr;
}

DeviceFile ClassifyDevice(const char* path, int* render_minor) {
  if (path == nullptr || strncmp(path, "/dev/", 5) != 0 || Root() == nullptr)
    return DeviceFile::kNone;
  if (strcmp(path, "/dev/kfd") == 0) return DeviceFile::kKfd;
  constexpr char kRender[] = "/dev/dri/renderD";
  if (strncmp(path, kRender, sizeof(kRender) - 1) != 0) return DeviceFile::kNone;
  int minor = 0;
  const char* digit = path + sizeof(kRender) - 1;
  for (; *digit >= '0' && *digit <= '9' && minor < 100000; ++digit)
    minor = minor * 10 + (*digit - '0');
  if (*digit != '\0' || minor < 128) return DeviceFile::kNone;
  *render_minor = minor;
  return DeviceFile::kRender;
}

Redirected::Redirected(const char* path) : path_(path) {
  if (path == nullptr || path[0] != '/') return;
  if (strncmp(path, "/sys/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) {
    const char* root = Root();
    if (root == nullptr) return;
    for (const char* prefix : kPrefixes) {
      if (!IsAtOrBelow(path, prefix)) continue;
      const size_t root_length = strlen(root);
      if (root_length + strlen(path) >= sizeof(buffer_)) return;
      memcpy(buffer_, root, root_length);
      strcpy(buffer_ + root_length, path);
      path_ = buffer_;
      return;
    }
    return;
  }
  // stat and access of a device file: a character device that anybody may open.
  int minor = 0;
  const DeviceFile device = ClassifyDevice(path, &minor);
  if (device == DeviceFile::kNone) return;
  if (device == DeviceFile::kRender) {
    // Only the render nodes that the tree has.
    const char* root = Root();
    constexpr char kNodes[] = "/sys/class/drm/";
    const char* name = path + strlen("/dev/dri/");
    if (root == nullptr || strlen(root) + sizeof(kNodes) + strlen(name) >= sizeof(buffer_)) return;
    strcpy(buffer_, root);
    strcat(buffer_, kNodes);
    strcat(buffer_, name);
    const int saved_errno = errno;
    const bool exists = syscall(SYS_access, buffer_, F_OK) == 0;
    errno = saved_errno;
    if (!exists) {
      path_ = buffer_;
      return;
    }
  }
  path_ = "/dev/null";
}

}  // namespace rochound::softgpu::shim
