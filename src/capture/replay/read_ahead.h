// SPDX-License-Identifier: MIT
//
// Reads a bundle's memory chunk by chunk, in order, while threads of its own read and decompress
// those that come next: big bundles are limited by that, not by the GPU. Few chunks are read
// without threads. Made and asked on one thread; the bundle lives longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "capture/bundle.h"

namespace rochound::capture::replay {

class ReadAhead {
 public:
  struct Chunk {
    uint32_t region = 0;
    uint64_t offset = 0, size = 0;  // at most kChunkBytes
  };

  ReadAhead(const Bundle& bundle, Phase phase, std::vector<Chunk> chunks);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The bytes of the next chunk, good until the call after; no more calls than chunks.
  base::Result<std::span<std::byte>> Next();

 private:
  struct Slot {
    std::vector<std::byte> bytes;
    base::Result<void> result;
    bool ready = false;
  };

  void Work();
  base::Result<void> Read(const Chunk& chunk, std::vector<std::byte>* bytes) const;

  const Bundle& bundle_;
  const Phase phase_;
  const std::vector<Chunk> chunks_;
  std::vector<Slot> slots_;  // chunk n is in slot n modulo their number
  std::vector<std::thread> threads_;
  base::Mutex mutex_;
  base::Condition changed_;
  size_t given_ ROCHOUND_GUARDED_BY(mutex_) = 0;    // to somebody who asked
  size_t claimed_ ROCHOUND_GUARDED_BY(mutex_) = 0;  // by a thread
  bool stop_ ROCHOUND_GUARDED_BY(mutex_) = false;
};

}  // namespace rochound::capture::replay
