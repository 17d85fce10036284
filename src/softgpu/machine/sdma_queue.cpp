// SPDX-License-Identifier: MIT
#include "softgpu/machine/sdma_queue.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "softgpu/isa/architecture.h"

namespace rochound::softgpu {
namespace {

enum Opcode : uint32_t {
  kNop = 0,
  kCopy = 1,
  kWriteLinear = 2,
  kFence = 5,
  kTrap = 6,
  kPollMemory = 8,
  kAtomic = 10,
  kFill = 11,
  kTimestamp = 13,
  kCacheControl = 17,
};
constexpr uint32_t kCopyLinear = 0;
constexpr uint32_t kCopyLinearRectangle = 4;
constexpr uint32_t kTimestampGetGlobal = 2;
constexpr unsigned kMaxPacketDwords = 32;
constexpr uint64_t kChunk = 1 << 20;  // the page map is looked at again after this much

uint64_t Join(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

}  // namespace

bool SdmaQueue::HasWork() {
  // The doorbell holds the write position in bytes; all ones: never rung.
  uint64_t rung = __atomic_load_n(config_.doorbell, __ATOMIC_ACQUIRE);
  return rung != ~uint64_t{0} && rung != read_bytes_;
}

void SdmaQueue::Process() {
  uint64_t rung = __atomic_load_n(config_.doorbell, __ATOMIC_ACQUIRE);
  uint64_t available = std::min<uint64_t>((rung - read_bytes_) / 4, kMaxPacketDwords);
  uint32_t packet[kMaxPacketDwords] = {};
  for (uint64_t i = 0; i < available; ++i) {
    uint64_t address = config_.ring_address + (read_bytes_ + i * 4) % config_.ring_bytes;
    uint8_t* word = At(address, 4, kRead);
    if (word == nullptr) return;
    std::memcpy(&packet[i], word, 4);
  }
  unsigned dwords = Execute(packet);
  if (dwords == 0) return;
  read_bytes_ += uint64_t{dwords} * 4;
  if (uint8_t* index = At(config_.read_index_address, 8, kWrite))
    __atomic_store_n(reinterpret_cast<uint64_t*>(index), read_bytes_, __ATOMIC_RELEASE);
}

unsigned SdmaQueue::Execute(const uint32_t* p) {
  uint32_t sub_op = p[0] >> 8 & 0xFF;
  switch (p[0] & 0xFF) {
    case kNop:
      return 1 + (p[0] >> 16 & 0x3FFF);
    case kCopy:
      if (sub_op == kCopyLinear) return Copy(p);
      if (sub_op == kCopyLinearRectangle) return CopyRectangle(p);
      break;
    case kWriteLinear:
      if (sub_op == 0) return Write(p);
      break;
    case kFence:
      return Fence(p);
    case kTrap:
      return Trap(p);
    case kPollMemory:
      return Poll(p);
    case kAtomic:
      return Atomic(p);
    case kFill:
      return Fill(p);
    case kTimestamp:
      if (sub_op == kTimestampGetGlobal) return Timestamp(p);
      break;
    case kCacheControl:
      return 5;
    default:
      break;
  }
  HaltWithError(QueueError::kInvalidPacket, "SDMA packet " + std::to_string(p[0] & 0xFF) + "." +
                                                std::to_string(sub_op) + " is not implemented on " +
                                                device_.name);
  return 0;
}

uint8_t* SdmaQueue::At(uint64_t address, uint64_t size, uint8_t access) {
  uint8_t* host = memory_.Translate(address, size, access);
  if (host == nullptr) {
    bool mapped = memory_.Find(address) != nullptr;
    HaltWithFault({address, access, mapped}, "memory fault in an SDMA packet on " + device_.name);
  }
  return host;
}

bool SdmaQueue::CopyBytes(uint64_t to, uint64_t from, uint64_t size) {
  while (size != 0) {
    memory_.Refresh();
    const Region* source = memory_.Find(from);
    if (source == nullptr) return At(from, 1, kRead) != nullptr;
    uint64_t part = std::min({size, source->end - from, kChunk});
    uint8_t* source_bytes = At(from, part, kRead);
    if (source_bytes == nullptr) return false;
    const Region* target = memory_.Find(to);
    if (target == nullptr) return At(to, 1, kWrite) != nullptr;
    part = std::min(part, target->end - to);
    uint8_t* target_bytes = At(to, part, kWrite);
    if (target_bytes == nullptr) return false;
    std::memmove(target_bytes, source_bytes, part);
    to += part;
    from += part;
    size -= part;
  }
  return true;
}

unsigned SdmaQueue::Copy(const uint32_t* p) {
  uint64_t size = uint64_t{p[1] & 0x3FFFFFFF} + 1;
  return CopyBytes(Join(p[5], p[6]), Join(p[3], p[4]), size) ? 7 : 0;
}

unsigned SdmaQueue::CopyRectangle(const uint32_t* p) {
  uint64_t element = uint64_t{1} << (p[0] >> 29);
  // The fields became wider with gfx12, where the pitch moved to the upper half of its dword.
  struct Fields {
    uint32_t xy, z, pitch_shift, slice;
  };
  constexpr Fields kBeforeGfx12 = {0x3FFF, 0x7FF, 13, 0x0FFFFFFF};
  constexpr Fields kGfx12 = {0xFFFF, 0x3FFF, 16, 0xFFFFFFFF};
  const Architecture* architecture = FindArchitecture(device_.target);
  const Fields& fields = architecture->bit & kGfx12Targets ? kGfx12 : kBeforeGfx12;
  struct Side {
    uint64_t base, x, y, z, pitch, slice;
  };
  auto side = [&fields](const uint32_t* w) {
    return Side{Join(w[0], w[1]),
                w[2] & fields.xy,
                w[2] >> 16 & fields.xy,
                w[3] & fields.z,
                uint64_t{w[3] >> fields.pitch_shift} + 1,
                uint64_t{w[4] & fields.slice} + 1};
  };
  Side from = side(p + 1);
  Side to = side(p + 6);
  uint64_t width = uint64_t{p[11] & fields.xy} + 1;
  uint64_t height = uint64_t{p[11] >> 16 & fields.xy} + 1;
  uint64_t depth = uint64_t{p[12] & fields.z} + 1;
  auto row = [element](const Side& s, uint64_t y, uint64_t z) {
    return s.base + ((s.z + z) * s.slice + (s.y + y) * s.pitch + s.x) * element;
  };
  for (uint64_t z = 0; z < depth; ++z) {
    for (uint64_t y = 0; y < height; ++y) {
      if (!CopyBytes(row(to, y, z), row(from, y, z), width * element)) return 0;
    }
  }
  return 13;
}

unsigned SdmaQueue::Fill(const uint32_t* p) {
  uint64_t to = Join(p[1], p[2]);
  unsigned element = 1u << (p[0] >> 30);
  uint64_t size = uint64_t{p[4] & 0x3FFFFF} + element;  // the count is of the last element's start
  size = size / element * element;
  uint8_t pattern[8];
  for (unsigned i = 0; i < 8; ++i) pattern[i] = static_cast<uint8_t>(p[3] >> 8 * (i % element));
  while (size != 0) {
    memory_.Refresh();
    const Region* region = memory_.Find(to);
    uint64_t part = region == nullptr ? 1 : std::min({size, region->end - to, kChunk});
    uint8_t* bytes = At(to, part, kWrite);
    if (bytes == nullptr) return 0;
    for (uint64_t i = 0; i < part; ++i) bytes[i] = pattern[i % element];
    to += part;
    size -= part;
  }
  return 5;
}

unsigned SdmaQueue::Write(const uint32_t* p) {
  uint64_t to = Join(p[1], p[2]);
  uint32_t count = (p[3] & 0xFFFFF) + 1;
  if (count + 4 > kMaxPacketDwords) {
    HaltWithError(QueueError::kInvalidPacket, "long SDMA write packet on " + device_.name);
    return 0;
  }
  uint8_t* bytes = At(to, count * 4, kWrite);
  if (bytes == nullptr) return 0;
  std::memcpy(bytes, p + 4, count * 4);
  return 4 + count;
}

unsigned SdmaQueue::Fence(const uint32_t* p) {
  uint8_t* word = At(Join(p[1], p[2]), 4, kWrite);
  if (word == nullptr) return 0;
  __atomic_store_n(reinterpret_cast<uint32_t*>(word), p[3], __ATOMIC_RELEASE);
  Activity::Instance().Kick();
  return 4;
}

unsigned SdmaQueue::Trap(const uint32_t* p) {
  callbacks_->OnInterrupt(device_.gpu_id, p[1] & 0x0FFFFFFF);
  return 2;
}

unsigned SdmaQueue::Poll(const uint32_t* p) {
  // With mem_poll clear this is a flush of the host data path: nothing to do.
  if (!(p[0] >> 31)) return 6;
  uint64_t address = Join(p[1], p[2]);
  uint32_t function = p[0] >> 28 & 7;
  Activity::Waiter waiter;
  for (;;) {
    uint8_t* word = At(address, 4, kRead);
    if (word == nullptr) return 0;
    uint32_t value = __atomic_load_n(reinterpret_cast<uint32_t*>(word), __ATOMIC_ACQUIRE) & p[4];
    bool holds = false;
    switch (function) {
      case 0:
        holds = true;
        break;
      case 1:
        holds = value < p[3];
        break;
      case 2:
        holds = value <= p[3];
        break;
      case 3:
        holds = value == p[3];
        break;
      case 4:
        holds = value != p[3];
        break;
      case 5:
        holds = value >= p[3];
        break;
      default:
        holds = value > p[3];
        break;
    }
    if (holds) return 6;
    if (!PauseOnce(waiter)) return 0;
  }
}

unsigned SdmaQueue::Atomic(const uint32_t* p) {
  constexpr uint32_t kAdd64 = 47;
  uint32_t operation = p[0] >> 25;
  if (operation != kAdd64) {
    HaltWithError(QueueError::kInvalidPacket, "SDMA atomic " + std::to_string(operation) +
                                                  " is not implemented on " + device_.name);
    return 0;
  }
  uint8_t* word = At(Join(p[1], p[2]), 8, kWrite);
  if (word == nullptr) return 0;
  __atomic_fetch_add(reinterpret_cast<uint64_t*>(word), Join(p[3], p[4]), __ATOMIC_ACQ_REL);
  Activity::Instance().Kick();
  return 8;
}

unsigned SdmaQueue::Timestamp(const uint32_t* p) {
  uint8_t* word = At(Join(p[1], p[2]), 8, kWrite);
  if (word == nullptr) return 0;
  __atomic_store_n(reinterpret_cast<uint64_t*>(word), GpuClockNow(), __ATOMIC_RELEASE);
  return 3;
}

}  // namespace rochound::softgpu
