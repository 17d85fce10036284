// SPDX-License-Identifier: MIT
//
// Reads memory of this process that may not be there, by way of the kernel: what is not mapped is a
// false instead of a SIGSEGV. Any thread; no allocation.
#pragma once

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/file_limit.h"

namespace rochound::agent {

// As the program itself would read it, into a file in memory and from there to us.
inline bool ReadByFile(const void* address, void* out, size_t bytes) {
  const int file = base::UnlessScarce(memfd_create("rochound", MFD_CLOEXEC));
  if (file < 0) return false;
  size_t done = 0;
  while (done < bytes) {
    const ssize_t written = pwrite(file, static_cast<const char*>(address) + done, bytes - done,
                                   static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<size_t>(written);
  }
  const bool read = done == bytes && pread(file, out, bytes, 0) == static_cast<ssize_t>(bytes);
  close(file);
  return read;
}

inline bool ReadOwnMemory(uint64_t address, void* out, size_t bytes) {
  const iovec to{out, bytes};
  const iovec from{reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr)
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(bytes)) return true;
  // Memory that a driver has mapped, as that of queues, signals and arguments is, may have no pages
  // that this call can take; and a container may forbid it. What is not mapped needs no other try.
  unsigned char there = 0;
  const uint64_t page = address & ~uint64_t{4095};
  if (bytes == 0 ||
      mincore(reinterpret_cast<void*>(page), 1, &there) != 0)  // NOLINT(performance-no-int-to-ptr)
    return false;
  return ReadByFile(from.iov_base, out, bytes);
}

}  // namespace rochound::agent
