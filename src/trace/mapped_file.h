// SPDX-License-Identifier: MIT
//
// Memory-mapped pieces of files for the log's writer, inside somebody else's program: no descriptor
// stays open (a program may close every descriptor it does not know, and ours would then name
// one of its own files), no signal gets out (RLIMIT_FSIZE), and a piece is handed out only when its
// blocks are allocated, so that writing to it does not raise SIGBUS on a full disk. (Where the file
// system copies on write and cannot be asked not to, such as ZFS or a snapshot of btrfs, a full
// disk can still do that.) Any thread. Failure: null or false with errno set, and the file as it
// was before.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace rochound::trace {

// Zeroed memory of our own that the program's allocator never sees; null: none left. With
// `wipe_on_fork` a forked child finds it zeroed again, where the kernel offers that (4.14).
void* MapMemory(size_t bytes, bool wipe_on_fork = false);

// Makes the file if need be, allocates [offset, offset + bytes) and maps it for writing. Offset
// and size are multiples of the page size; the range must lie at the file's end or beyond.
char* ExtendAndMap(const char* path, uint64_t offset, size_t bytes);

// Gives the file's range back to the file system; it then reads as zeros. False: not possible here.
bool PunchHole(const char* path, uint64_t offset, size_t bytes);

// Lets later writes to mapped memory find their pages present. Contents stay.
void Prefault(char* memory, size_t bytes);

// Creates or replaces the file at once, so that a reader sees the old content or the new.
bool WriteWholeFile(const char* path, const char* content, size_t bytes);

}  // namespace rochound::trace
