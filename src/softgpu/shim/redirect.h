// SPDX-License-Identifier: MIT
//
// Which paths the shim answers for. Called by every interposed file function, on any thread, at any
// time of the process's life; allocates nothing and keeps errno.
#pragma once

#include <limits.h>

namespace rochound::softgpu::shim {

// The device tree (ROCHOUND_SOFTGPU_ROOT), or nullptr: then the shim passes everything through.
// Decided once, at the first call that finds an environment.
const char* Root();

enum class DeviceFile { kNone, kKfd, kRender };

// Whether the path names one of the device files, and for a render node its minor number.
DeviceFile ClassifyDevice(const char* path, int* render_minor);

// A path as the system should see it: one in the device tree, a stand-in for a device file that is
// only looked at, or the path itself.
class Redirected {
 public:
  explicit Redirected(const char* path);
  const char* get() const { return path_; }

 private:
  const char* path_;
  char buffer_[PATH_MAX];
};

}  // namespace rochound::softgpu::shim
