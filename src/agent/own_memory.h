// SPDX-License-Identifier: MIT
//
// Reads memory of this process that may not be there, by way of the kernel: what is not mapped is a
// false instead of a SIGSEGV. Any thread; no allocation.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace rochound::agent {

inline bool ReadOwnMemory(uint64_t address, void* out, size_t bytes) {
  const iovec to{out, bytes};
  const iovec from{reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr)
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace rochound::agent
