// SPDX-License-Identifier: MIT
//
// Makes a bundle small and complete after the captured program went on: its memory is compressed
// (zstd), and the kernel's symbol and arguments are taken from the code object. Offline; several
// threads, the caller's waits. The packed bundle is read back and compared before the other one is
// removed; after a failure the bundle that was there is still there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"

namespace rochound::capture {

struct PackOptions {
  int level = 3;         // zstd's
  unsigned threads = 0;  // 0: as many as there are processors
};

struct PackSummary {
  uint64_t taken_bytes = 0;   // of the regions that were taken
  uint64_t raw_bytes = 0;     // of memory that was stored: without zeros, and what changed
  uint64_t stored_bytes = 0;  // of the same, now
  uint64_t bundle_bytes = 0;  // of all files
};

// Packs the bundle from, which may be packed already, into a new one, to, and removes from. They
// may be the same; then the packed one takes the other's place at once. progress(done, all) is given
// how many bytes of work are done, on the caller's thread.
base::Result<PackSummary> Pack(const std::filesystem::path& from, const std::filesystem::path& to,
                               const PackOptions& options = {},
                               const std::function<void(uint64_t, uint64_t)>& progress = {});

// Removes a bundle's files, and the directory if nothing else is in it.
base::Result<void> RemoveBundle(const std::filesystem::path& path);

}  // namespace rochound::capture
