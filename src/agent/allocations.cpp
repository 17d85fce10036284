// SPDX-License-Identifier: MIT
#include "agent/allocations.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "agent/calls/stacks.h"
#include "agent/probe.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/state.h"
#include "agent/thread_state.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

constinit base::Mutex changing;
constexpr size_t kMostFreed = 512;
Freed freed[kMostFreed] ROCHOUND_GUARDED_BY(changing);  // a ring
size_t freed_count ROCHOUND_GUARDED_BY(changing) = 0;

// For a map that takes no memory before it has something to hold: never destroyed, since it is
// looked into after the program's own destructors, and made where no failure of ours may pass.
template <typename Map>
union ForEver {
  ForEver() : map() {}
  ~ForEver() {}
  Map map;
};

Reservations& Reserved() ROCHOUND_REQUIRES(changing) {
  static ForEver<Reservations> reserved;
  return reserved.map;
}

void AddReservation(const void* base, uint64_t size) {
  if (IsBusy()) return;
  Guarded("no memory for the list of allocations", [&] {
    const base::Lock lock(changing);
    Reserved()[reinterpret_cast<uint64_t>(base)] = size;
  });
}

// Who asks, if stacks are wanted.
AllocationStack WhoAsks() {
  AllocationStack stack{};
  if (settings().stacks) {
    const size_t count = CallerStack(stack.data(), stack.size());
    std::fill(stack.begin() + static_cast<ptrdiff_t>(count), stack.end(), 0);
  }
  return stack;
}

uint32_t ThreadId() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

Allocations& All() ROCHOUND_REQUIRES(changing) {
  static ForEver<Allocations> allocations;
  return allocations.map;
}

// Locked memory by the program's address, which is all that unlocking tells: HIP locks and unlocks
// for each copy of pageable memory.
std::unordered_map<uint64_t, uint64_t>& Locked() ROCHOUND_REQUIRES(changing) {
  static ForEver<std::unordered_map<uint64_t, uint64_t>> locked;
  return locked.map;
}

hsa_status_t Lock(void* host, size_t size, hsa_agent_t* agents, int count, void** seen) {
  const hsa_status_t status = Real().amd.hsa_amd_memory_lock_fn(host, size, agents, count, seen);
  if (status == HSA_STATUS_SUCCESS) MemoryAppears(*seen, size, MemoryKind::kLocked, host);
  return status;
}

hsa_status_t LockToPool(void* host, size_t size, hsa_agent_t* agents, int count,
                        hsa_amd_memory_pool_t pool, uint32_t flags, void** seen) {
  const hsa_status_t status =
      Real().amd.hsa_amd_memory_lock_to_pool_fn(host, size, agents, count, pool, flags, seen);
  if (status == HSA_STATUS_SUCCESS) MemoryAppears(*seen, size, MemoryKind::kLocked, host);
  return status;
}

hsa_status_t Unlock(void* host) {
  uint64_t seen = 0;
  if (!IsBusy()) {
    const Busy busy;
    const base::Lock lock(changing);
    const auto locked = Locked().find(reinterpret_cast<uint64_t>(host));
    if (locked != Locked().end()) {
      seen = locked->second;
      Locked().erase(locked);
    }
  }
  if (seen != 0) MemoryGoes(reinterpret_cast<const void*>(seen));
  return Real().amd.hsa_amd_memory_unlock_fn(host);
}

hsa_status_t Attach(const hsa_amd_ipc_memory_t* handle, size_t size, uint32_t count,
                    const hsa_agent_t* agents, void** mapped) {
  const hsa_status_t status =
      Real().amd.hsa_amd_ipc_memory_attach_fn(handle, size, count, agents, mapped);
  if (status == HSA_STATUS_SUCCESS) MemoryAppears(*mapped, size, MemoryKind::kIpc);
  return status;
}

hsa_status_t Detach(void* mapped) {
  MemoryGoes(mapped);
  return Real().amd.hsa_amd_ipc_memory_detach_fn(mapped);
}

hsa_status_t MapInterop(uint32_t count, hsa_agent_t* agents, int handle, uint32_t flags,
                        size_t* size, void** mapped, size_t* metadata_size, const void** metadata) {
  const hsa_status_t status = Real().amd.hsa_amd_interop_map_buffer_fn(
      count, agents, handle, flags, size, mapped, metadata_size, metadata);
  if (status == HSA_STATUS_SUCCESS) MemoryAppears(*mapped, *size, MemoryKind::kIpc);
  return status;
}

hsa_status_t UnmapInterop(void* mapped) {
  MemoryGoes(mapped);
  return Real().amd.hsa_amd_interop_unmap_buffer_fn(mapped);
}

// Entries that came after ROCm 5.2; what a table does not have is not instantiated.
template <typename Table>
struct Later {
  static hsa_status_t SetAttributes(void* base, size_t size,
                                    hsa_amd_svm_attribute_pair_t* attributes, size_t count) {
    const Table& real = Real().amd;
    const hsa_status_t status = real.hsa_amd_svm_attributes_set_fn(base, size, attributes, count);
    if (status == HSA_STATUS_SUCCESS) MemoryAppears(base, size, MemoryKind::kManaged);
    return status;
  }

  template <typename Handle>
  static hsa_status_t Map(void* base, size_t size, size_t offset, Handle handle, uint64_t flags) {
    const Table& real = Real().amd;
    const hsa_status_t status = real.hsa_amd_vmem_map_fn(base, size, offset, handle, flags);
    if (status == HSA_STATUS_SUCCESS) MemoryAppears(base, size, MemoryKind::kVmem);
    return status;
  }

  static hsa_status_t Reserve(void** base, size_t size, uint64_t wanted, uint64_t flags) {
    const Table& real = Real().amd;
    const hsa_status_t status = real.hsa_amd_vmem_address_reserve_fn(base, size, wanted, flags);
    if (status == HSA_STATUS_SUCCESS) AddReservation(*base, size);
    return status;
  }

  static hsa_status_t ReserveAligned(void** base, size_t size, uint64_t wanted, uint64_t alignment,
                                     uint64_t flags) {
    const Table& real = Real().amd;
    const hsa_status_t status =
        real.hsa_amd_vmem_address_reserve_align_fn(base, size, wanted, alignment, flags);
    if (status == HSA_STATUS_SUCCESS) AddReservation(*base, size);
    return status;
  }

  static hsa_status_t Unreserve(void* base, size_t size) {
    const Table& real = Real().amd;
    if (!IsBusy()) {
      const Busy busy;
      const base::Lock lock(changing);
      Reserved().erase(reinterpret_cast<uint64_t>(base));
    }
    return real.hsa_amd_vmem_address_free_fn(base, size);
  }

  static hsa_status_t Unmap(void* base, size_t size) {
    const Table& real = Real().amd;
    MemoryGoes(base);
    return real.hsa_amd_vmem_unmap_fn(base, size);
  }

  static void Hook(Table* table) {
    const Table& real = Real().amd;
    if constexpr (requires { table->hsa_amd_svm_attributes_set_fn; }) {
      if (real.hsa_amd_svm_attributes_set_fn != nullptr)
        table->hsa_amd_svm_attributes_set_fn = SetAttributes;
    }
    if constexpr (requires { table->hsa_amd_vmem_map_fn; }) {
      if (real.hsa_amd_vmem_map_fn != nullptr) table->hsa_amd_vmem_map_fn = Map;
      if (real.hsa_amd_vmem_unmap_fn != nullptr) table->hsa_amd_vmem_unmap_fn = Unmap;
      if (real.hsa_amd_vmem_address_reserve_fn != nullptr)
        table->hsa_amd_vmem_address_reserve_fn = Reserve;
      if (real.hsa_amd_vmem_address_free_fn != nullptr)
        table->hsa_amd_vmem_address_free_fn = Unreserve;
    }
    if constexpr (requires { table->hsa_amd_vmem_address_reserve_align_fn; }) {
      if (real.hsa_amd_vmem_address_reserve_align_fn != nullptr)
        table->hsa_amd_vmem_address_reserve_align_fn = ReserveAligned;
    }
  }
};

}  // namespace

const char* KindName(MemoryKind kind) {
  constexpr const char* kNames[] = {"pool", "vmem", "locked", "managed", "ipc"};
  return kNames[static_cast<size_t>(kind)];
}

void HookAllocations(AmdExtTable* amd) {
  amd->hsa_amd_memory_lock_fn = Lock;
  amd->hsa_amd_memory_unlock_fn = Unlock;
  if (Real().amd.hsa_amd_memory_lock_to_pool_fn != nullptr)
    amd->hsa_amd_memory_lock_to_pool_fn = LockToPool;
  amd->hsa_amd_ipc_memory_attach_fn = Attach;
  amd->hsa_amd_ipc_memory_detach_fn = Detach;
  amd->hsa_amd_interop_map_buffer_fn = MapInterop;
  amd->hsa_amd_interop_unmap_buffer_fn = UnmapInterop;
  Later<AmdExtTable>::Hook(amd);
}

void MemoryAppears(const void* base, uint64_t size, MemoryKind kind, const void* host_base,
                   uint16_t agent) {
  if (CurrentState() == State::kDisabled || base == nullptr || size == 0 || IsBusy()) return;
  Guarded("no memory for the list of allocations", [&] {
    const auto start = reinterpret_cast<uint64_t>(base);
    const AllocationStack stack = WhoAsks();
    const base::Lock lock(changing);
    // Advice about a part of managed memory is no new memory.
    const auto after = All().upper_bound(start);
    if (kind == MemoryKind::kManaged && after != All().begin()) {
      const auto& [there, one] = *std::prev(after);
      if (start + size <= there + one.size) return;
    }
    if (kind == MemoryKind::kLocked) Locked()[reinterpret_cast<uint64_t>(host_base)] = start;
    All()[start] = {size,
                    kind,
                    reinterpret_cast<uint64_t>(host_base),
                    ThreadId(),
                    rochound::base::ClockNs(CLOCK_REALTIME),
                    agent,
                    stack};
  });
  ProbeMemoryAppears(reinterpret_cast<uint64_t>(base), size, kind == MemoryKind::kVmem,
                     kind == MemoryKind::kPool && agent != trace::kNoAgent && IsGpu(agent));
}

void MemoryGoes(const void* base) {
  if (IsBusy()) return;
  const Busy busy;
  ProbeMemoryGoes(reinterpret_cast<uint64_t>(base));
  const AllocationStack stack = WhoAsks();
  const base::Lock lock(changing);
  const auto gone = All().find(reinterpret_cast<uint64_t>(base));
  if (gone == All().end()) return;
  freed[freed_count++ % kMostFreed] = {gone->first, gone->second, ThreadId(),
                                       rochound::base::ClockNs(CLOCK_REALTIME), stack};
  All().erase(gone);
}

uint16_t OwnerOf(uint64_t address, uint16_t gpu) {
  if (!changing.try_lock()) return trace::kNoAgent;
  const base::Lock lock(changing, std::adopt_lock);
  const auto after = All().upper_bound(address);
  if (after == All().begin()) return HostAgent();
  const auto& [base, allocation] = *std::prev(after);
  if (address - base >= allocation.size) return HostAgent();
  switch (allocation.kind) {
    case MemoryKind::kPool:
      return allocation.agent;
    case MemoryKind::kVmem:
    case MemoryKind::kIpc:
      return gpu;
    case MemoryKind::kLocked:
    case MemoryKind::kManaged:
      break;
  }
  return HostAgent();
}

// The analysis does not know that the lock is held as long as this lives: other files cannot name it.
HeldAllocations::HeldAllocations() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  changing.lock();
  all_ = &All();
}
HeldAllocations::~HeldAllocations() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS { changing.unlock(); }

const Reservations& HeldAllocations::reservations() const ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  return Reserved();
}

std::vector<Freed> HeldAllocations::freed() const ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  std::vector<Freed> latest;
  for (size_t i = 0; i < std::min(kMostFreed, freed_count); ++i)
    latest.push_back(agent::freed[(freed_count - 1 - i) % kMostFreed]);
  return latest;
}

void ForgetAllocations() {
  // Nobody waits at the end. Who holds the list still reads it.
  if (!changing.try_lock()) return;
  const base::Lock lock(changing, std::adopt_lock);
  All().clear();
  Reserved().clear();
  Locked().clear();
}

void ForgetAllocationsAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  new (&changing) base::Mutex;
  new (&All()) Allocations;
  new (&Reserved()) Reservations;
  new (&Locked()) std::unordered_map<uint64_t, uint64_t>;
  freed_count = 0;
}

}  // namespace rochound::agent
