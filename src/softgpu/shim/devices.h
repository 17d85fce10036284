// SPDX-License-Identifier: MIT
//
// The device files of the software GPU, seen from the interposed functions: which descriptors are
// ours, and the core that answers for them, loaded when the first one is opened. Any thread, any
// time; nothing is ever destroyed.
#pragma once

#include "softgpu/core_interface.h"

namespace rochound::softgpu::shim {

// The core, or nullptr: no device tree, or the core cannot be loaded (said once on stderr).
const SoftgpuCore* Core();

// The same, but nullptr if it has not been loaded yet.
const SoftgpuCore* LoadedCore();

// If the path is one of the device files, opens it: *fd is then a descriptor, or -1 with errno set.
bool OpenDevice(const char* path, int flags, int* fd);

// True as well for a descriptor that was inherited by fork, or closed without our knowing: the core
// keeps the exact list.
bool IsOurs(int fd);
// False in a child of vfork, which shares our memory and must not change it, and in a child of fork
// that has opened nothing yet.
bool InOwningProcess();
void Forget(int fd);

// The value a C library function returns for a core's result: sets errno and gives -1.
int Returned(int result);

}  // namespace rochound::softgpu::shim
