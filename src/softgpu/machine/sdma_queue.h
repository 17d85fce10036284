// SPDX-License-Identifier: MIT
//
// An SDMA queue: a ring of variable-length packets that copy, fill, wait and signal. Packets that
// are not known halt the queue with a message.
#pragma once

#include "softgpu/machine/queue.h"

namespace rochound::softgpu {

class SdmaQueue : public Queue {
 public:
  using Queue::Queue;

 protected:
  bool HasWork() override;
  void Process() override;

 private:
  // Each returns the packet's length in dwords, 0 if the queue halted or is to stop.
  unsigned Copy(const uint32_t* p);
  unsigned CopyRectangle(const uint32_t* p);
  unsigned Fill(const uint32_t* p);
  unsigned Write(const uint32_t* p);
  unsigned Fence(const uint32_t* p);
  unsigned Trap(const uint32_t* p);
  unsigned Poll(const uint32_t* p);
  unsigned Atomic(const uint32_t* p);
  unsigned Timestamp(const uint32_t* p);
  unsigned Execute(const uint32_t* p);

  // False (and the queue is halted) if part of it is not mapped.
  bool CopyBytes(uint64_t to, uint64_t from, uint64_t size);
  uint8_t* At(uint64_t address, uint64_t size, uint8_t access);

  uint64_t read_bytes_ = 0;
};

}  // namespace rochound::softgpu
