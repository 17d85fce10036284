// SPDX-License-Identifier: MIT
//
// The writer's chunks in memory, and lock-free lists of them. A descriptor lives in a table that is
// never freed, and is named by its index; zero is none. Push, Pop and TakeAll may be called on any
// thread at any time; a tag that counts changes beside the index keeps a list whole when a chunk
// returns to it while another thread is popping. Who took a chunk off a list owns it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"

namespace rochound::trace {

struct Chunk {
  std::atomic<uint32_t> next;
  uint32_t bytes;
  char* memory;  // the chunk's mapping; its first bytes are the ChunkHeader
  char* cursor;  // where the next record goes, while no thread has the chunk
  uint64_t closed_ns;
  uint32_t segment;
  uint32_t number;  // in its segment
  bool lasting;     // never recycled
};

class ChunkList {
 public:
  void Push(Chunk* chunks, uint32_t id) {
    ROCHOUND_DCHECK(id != 0);
    uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      chunks[id].next.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, Next(head, id), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  uint32_t Pop(const Chunk* chunks) {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(head) != 0) {
      const uint32_t next =
          chunks[static_cast<uint32_t>(head)].next.load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, Next(head, next), std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return static_cast<uint32_t>(head);
      }
    }
    return 0;
  }

  // The whole list, linked by `next`, latest push first.
  uint32_t TakeAll() {
    uint64_t head = head_.load(std::memory_order_relaxed);
    while (static_cast<uint32_t>(head) != 0) {
      if (head_.compare_exchange_weak(head, Next(head, 0), std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return static_cast<uint32_t>(head);
      }
    }
    return 0;
  }

 private:
  static uint64_t Next(uint64_t head, uint32_t id) { return ((head >> 32) + 1) << 32 | id; }

  std::atomic<uint64_t> head_{0};
};

}  // namespace rochound::trace
