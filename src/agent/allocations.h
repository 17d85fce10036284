// SPDX-License-Identifier: MIT
//
// The memory that a GPU may see: every allocation, mapping and registration that goes through the
// HSA runtime, with the address at which the GPU sees it, and what was freed last: for captures of
// launches, and to explain faults. The hooks run on the program's threads. Whoever wants to read
// that memory holds it: until then no allocation goes away, because the thread that would free it
// waits.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "trace/records.h"

namespace rochound::agent {

enum class MemoryKind : uint8_t { kPool, kVmem, kLocked, kManaged, kIpc };

const char* KindName(MemoryKind kind);

// Return addresses, innermost first, 0 after the last; only with --stacks.
using AllocationStack = std::array<uint64_t, 32>;

struct Allocation {
  uint64_t size = 0;
  MemoryKind kind = MemoryKind::kPool;
  uint64_t host_base = 0;  // where the program sees locked memory; 0: at the same address
  uint32_t thread = 0;     // that asked for it
  uint64_t when_ns = 0;    // CLOCK_REALTIME
  uint16_t agent = 0;      // whose memory it is, of kPool; as in the info file
  AllocationStack stack{};
};
// Address ranges that the program reserved, to map memory into: what is mapped into one of them is
// one buffer to the program, and a pointer to any part of it leads everywhere in it.
using Reservations = std::map<uint64_t, uint64_t>;   // sizes
using Allocations = std::map<uint64_t, Allocation>;  // by the GPU's address

struct Freed {
  uint64_t base = 0;
  Allocation allocation;
  uint32_t thread = 0;  // that freed it
  uint64_t when_ns = 0;
  AllocationStack stack{};
};

// The entries that nobody else hooks: virtual memory, locks, IPC, managed memory.
void HookAllocations(AmdExtTable* amd);

// An allocation succeeded; is about to be freed. For the hooks that are elsewhere.
void MemoryAppears(const void* base, uint64_t size, MemoryKind kind,
                   const void* host_base = nullptr, uint16_t agent = trace::kNoAgent);
void MemoryGoes(const void* base);

// Whose memory an address is: an agent's index, the host's where it is no GPU's. Memory that was
// mapped by other means counts as `gpu`'s. trace::kNoAgent: somebody holds the list, and nobody
// waits here.
uint16_t OwnerOf(uint64_t address, uint16_t gpu);

class HeldAllocations {
 public:
  HeldAllocations();
  ~HeldAllocations();
  HeldAllocations(const HeldAllocations&) = delete;
  HeldAllocations& operator=(const HeldAllocations&) = delete;
  const Allocations& all() const { return *all_; }
  const Reservations& reservations() const;
  std::vector<Freed> freed() const;  // the last some hundred, the latest first

 private:
  const Allocations* all_ = nullptr;
};

// The runtime is about to go, and with it all of its memory.
void ForgetAllocations();

// In a forked child: what another thread of the parent held or was changing is made anew.
void ForgetAllocationsAfterFork();

}  // namespace rochound::agent
