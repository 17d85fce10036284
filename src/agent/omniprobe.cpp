// SPDX-License-Identifier: MIT
#include "agent/omniprobe.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "agent/own_memory.h"
#include "agent/probe.h"
#include "agent/runtime.h"
#include "agent/state.h"
#include "base/mutex.h"
#include "probe/layout.h"

namespace rochound::agent {
namespace {

// As dh_comms has it (version of 2026).
struct Descriptor {
  uint64_t buffers;
  uint64_t buffer_bytes;
  char* memory;
  uint64_t* sizes;       // of what is in each buffer
  uint32_t* error_bits;  // 1: a message was larger than a buffer
  uint8_t* wave_flags;   // 1: a wave writes
  uint8_t* host_flags;   // 1: a wave waits until the host has emptied the buffer
};

constexpr uint64_t kBuffers = 64;
constexpr uint64_t kBufferBytes = 64 << 10;
constexpr uint64_t kHeaderBytes = 64;      // of a message
constexpr uint64_t kMostArguments = 4096;  // bytes

struct Listener {
  Descriptor* descriptor = nullptr;  // in memory that GPUs see, as all that it leads to
  uint64_t number = 0;
};

struct Slots {  // a queue's
  std::byte* memory = nullptr;
  uint64_t bytes_each = 0;
};

struct Everything {
  std::vector<Listener> listeners;
  std::map<uint64_t, Slots> slots;  // by the queue's id
};

constinit base::Mutex using_it;

Everything& It() ROCHOUND_REQUIRES(using_it) {
  alignas(Everything) static std::byte place[sizeof(Everything)];
  static auto* const everything = new (place) Everything;
  return *everything;
}

constexpr uint64_t Rounded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// Whole messages of a buffer; what does not fit together ends it.
void TakeMessages(const Listener& listener, const char* from, uint64_t size) {
  while (size >= kHeaderBytes) {
    uint64_t data = 0;
    std::memcpy(&data, from + sizeof(uint64_t), sizeof data);
    const uint64_t length = kHeaderBytes + (data & ((uint64_t{1} << 62) - 1));
    if (length > size) return;
    ProbeRecord(kRochoundProbeForeignMessage, {listener.number, length},
                std::string_view(from, length));
    from += length;
    size -= length;
  }
}

bool Empty(const Listener& listener, uint64_t buffer, bool finally) {
  Descriptor& all = *listener.descriptor;
  const bool wanted = __atomic_load_n(&all.host_flags[buffer], __ATOMIC_ACQUIRE) != 0;
  if (!wanted && !finally) return false;
  const uint64_t size =
      std::min(__atomic_load_n(&all.sizes[buffer], __ATOMIC_ACQUIRE), kBufferBytes);
  TakeMessages(listener, all.memory + buffer * kBufferBytes, size);
  __atomic_store_n(&all.sizes[buffer], 0, __ATOMIC_RELEASE);
  if (wanted) __atomic_store_n(&all.host_flags[buffer], 0, __ATOMIC_RELEASE);
  return size != 0;
}

}  // namespace

uint64_t MakeOmniprobeDescriptor(const std::string& symbol, uint16_t agent) {
  const base::Lock lock(using_it);
  constexpr uint64_t kSizes = Rounded(sizeof(Descriptor));
  constexpr uint64_t kErrors = kSizes + Rounded(kBuffers * sizeof(uint64_t));
  constexpr uint64_t kWaveFlags = kErrors + Rounded(kBuffers * sizeof(uint32_t));
  constexpr uint64_t kHostFlags = kWaveFlags + Rounded(kBuffers);
  constexpr uint64_t kMemory = kHostFlags + Rounded(kBuffers);
  auto* const memory = static_cast<char*>(ProbeMemory(kMemory + kBuffers * kBufferBytes));
  if (memory == nullptr) return 0;
  auto* const descriptor = new (memory) Descriptor{kBuffers,
                                                   kBufferBytes,
                                                   memory + kMemory,
                                                   reinterpret_cast<uint64_t*>(memory + kSizes),
                                                   reinterpret_cast<uint32_t*>(memory + kErrors),
                                                   reinterpret_cast<uint8_t*>(memory + kWaveFlags),
                                                   reinterpret_cast<uint8_t*>(memory + kHostFlags)};
  const uint64_t number = It().listeners.size();
  It().listeners.push_back({descriptor, number});
  ProbeRecord(kRochoundProbeForeignKernel, {number, agent}, symbol);
  return reinterpret_cast<uint64_t>(descriptor);
}

void* MakeOmniprobeArguments(const Queue& queue, const hsa_kernel_dispatch_packet_t& packet,
                             const codeobj::SwapPlan& plan, const codeobj::SwapLaunch& launch,
                             uint64_t descriptor) {
  if (!plan.omniprobe) return nullptr;
  const codeobj::OmniprobeArguments& arguments = *plan.omniprobe;
  if (arguments.bytes > kMostArguments || plan.original_kernarg > kMostArguments) return nullptr;
  std::byte original[kMostArguments];
  if (plan.original_kernarg != 0 &&
      !ReadOwnMemory(reinterpret_cast<uint64_t>(packet.kernarg_address), original,
                     plan.original_kernarg))
    return nullptr;
  const base::Lock lock(using_it);
  Slots& slots = It().slots[queue.hsa_id];
  const uint64_t bytes = Rounded(arguments.bytes);
  // Larger ones get memory of their own; launches that are in flight keep the old.
  if (slots.bytes_each < bytes) {
    auto* const memory = static_cast<std::byte*>(ProbeMemory(bytes * queue.packets));
    if (memory == nullptr) return nullptr;
    slots = {memory, bytes};
  }
  const auto slot = static_cast<uint64_t>(
      &packet - static_cast<const hsa_kernel_dispatch_packet_t*>(queue.queue->base_address));
  std::byte* const made = slots.memory + slot % queue.packets * slots.bytes_each;
  arguments.Make(std::span<const std::byte>(original, plan.original_kernarg), launch, descriptor,
                 std::span<std::byte>(made, arguments.bytes));
  return made;
}

bool DrainOmniprobe(bool finally) {
  if (!using_it.try_lock()) return false;
  const base::Lock lock(using_it, std::adopt_lock);
  bool any = false;
  for (const Listener& listener : It().listeners)
    for (uint64_t i = 0; i < kBuffers; ++i) any = Empty(listener, i, finally) || any;
  return any;
}

void ForgetOmniprobe() {
  const base::Lock lock(using_it);
  It().listeners.clear();
  It().slots.clear();
}

void ForgetOmniprobeAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  new (&using_it) base::Mutex;
  // Not cleared: another thread of the parent may have been changing it.
  new (&It()) Everything;
}

}  // namespace rochound::agent
