// SPDX-License-Identifier: MIT
//
// Memory-mapped pieces of files for the log's writer, inside somebody else's program: no descriptor
// stays open (a program may close every descriptor it does not know, and ours would then name
// one of its own files), no signal gets out (RLIMIT_FSIZE), and a piece is handed out only when its
// blocks are allocated, so that writing to it does not raise SIGBUS on a full disk. Where the file
// system copies on write, allocated blocks do not prevent that: CopiesOnWrite, CanWrite and
// MakePrivate are for a writer that stops in time. Any thread. Failure: null or false with errno
// set, and the file as it was before.
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

// Whether writing to allocated blocks of a file in this folder can take room, so that a full disk
// raises SIGBUS: btrfs (after a snapshot), ZFS and bcachefs.
bool CopiesOnWrite(const char* folder);

// Has the kernel take the room that writing to mapped memory needs. False: there is none, and a
// write would raise SIGBUS. Room that was taken is lost when the kernel writes the pages to the
// disk. True on kernels before 5.14, which cannot tell.
bool CanWrite(char* memory, size_t bytes);

// Puts private memory with the same contents in the place of mapped memory: what is written from
// then on does not reach the file. Other threads may write to it meanwhile.
bool MakePrivate(char* memory, size_t bytes);

// Creates or replaces the file at once, so that a reader sees the old content or the new.
bool WriteWholeFile(const char* path, const char* content, size_t bytes);

}  // namespace rochound::trace
