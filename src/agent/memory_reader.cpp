// SPDX-License-Identifier: MIT
#include "agent/memory_reader.h"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "agent/own_memory.h"
#include "agent/runtime.h"
#include "base/clock.h"

namespace rochound::agent {
namespace {

bool Mapped(uint64_t base, uint64_t size) {
  constexpr uint64_t kPage = 4096;
  const uint64_t start = base & ~(kPage - 1);
  return msync(reinterpret_cast<void*>(start), base + size - start, MS_ASYNC) == 0;
}

struct PoolSearch {
  hsa_amd_memory_pool_t pool{};
  bool found = false;
};

hsa_status_t VisitPool(hsa_amd_memory_pool_t pool, void* data) {
  auto* const search = static_cast<PoolSearch*>(data);
  const auto ask = [&](hsa_amd_memory_pool_info_t what, auto value) {
    Real().amd.hsa_amd_memory_pool_get_info_fn(pool, what, &value);
    return value;
  };
  if (search->found ||
      ask(HSA_AMD_MEMORY_POOL_INFO_SEGMENT, hsa_amd_segment_t{}) != HSA_AMD_SEGMENT_GLOBAL ||
      !ask(HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, false))
    return HSA_STATUS_SUCCESS;
  const auto flags = ask(HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, uint32_t{});
  if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0) return HSA_STATUS_SUCCESS;
  search->pool = pool;
  search->found = true;
  return HSA_STATUS_SUCCESS;
}

bool FindHostPool(hsa_agent_t* cpu, hsa_amd_memory_pool_t* pool) {
  for (uint16_t index = 0; index < AgentCount(); ++index) {
    if (IsGpu(index)) continue;
    PoolSearch search;
    Real().amd.hsa_amd_agent_iterate_memory_pools_fn(AgentHandle(index), VisitPool, &search);
    if (!search.found) continue;
    *cpu = AgentHandle(index);
    *pool = search.pool;
    return true;
  }
  return false;
}

}  // namespace

MemoryReader::MemoryReader(hsa_agent_t gpu, uint64_t patience_ns)
    : gpu_(gpu), patience_ns_(patience_ns) {
  hsa_amd_memory_pool_t pool{};
  if (!FindHostPool(&cpu_, &pool)) return;
  // All GPUs: what a launch touches may be on another one. In one call, since each takes back
  // what the one before it allowed.
  std::vector<hsa_agent_t> gpus;
  for (uint16_t index = 0; index < AgentCount(); ++index)
    if (IsGpu(index)) gpus.push_back(AgentHandle(index));
  for (int i = 0; i < 2; ++i) {
    void* piece = nullptr;
    if (Real().amd.hsa_amd_memory_pool_allocate_fn(pool, kPiece, 0, &piece) != HSA_STATUS_SUCCESS)
      return;
    Real().amd.hsa_amd_agents_allow_access_fn(static_cast<uint32_t>(gpus.size()), gpus.data(),
                                              nullptr, piece);
    if (Real().core.hsa_signal_create_fn(1, 0, nullptr, &signals_[i]) != HSA_STATUS_SUCCESS) {
      Real().amd.hsa_amd_memory_pool_free_fn(piece);
      return;
    }
    pieces_[i] = static_cast<std::byte*>(piece);
  }
}

MemoryReader::~MemoryReader() {
  for (int i = 0; i < 2; ++i) {
    if (pieces_[i] == nullptr || stuck_) continue;  // the copy may still be writing
    Real().core.hsa_signal_destroy_fn(signals_[i]);
    Real().amd.hsa_amd_memory_pool_free_fn(pieces_[i]);
  }
}

MemoryReader::Place MemoryReader::Find(uint64_t address) const {
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  if (Real().amd.hsa_amd_pointer_info_fn(reinterpret_cast<const void*>(address), &info, nullptr,
                                         nullptr, nullptr) != HSA_STATUS_SUCCESS ||
      info.type == HSA_EXT_POINTER_TYPE_UNKNOWN)
    return {};
  Place place{.owner = info.agentOwner, .known = true};
  const uint16_t owner = AgentIndex(info.agentOwner);
  place.host = owner < AgentCount() && !IsGpu(owner) && info.hostBaseAddress != nullptr;
  place.host_base = reinterpret_cast<uint64_t>(info.hostBaseAddress) +
                    (address - reinterpret_cast<uint64_t>(info.agentBaseAddress));
  place.bytes = reinterpret_cast<uint64_t>(info.agentBaseAddress) + info.sizeInBytes - address;
  return place;
}

std::optional<MemoryReader::Place> MemoryReader::FindAllocation(uint64_t base,
                                                                const Allocation& one) const {
  Place place = Find(base);
  if (one.host_base != 0) {
    place.host = true;
    place.host_base = one.host_base;
  } else if (!place.known && one.kind == MemoryKind::kManaged) {
    // The program unmaps it without telling the runtime.
    if (!Mapped(base, one.size)) return std::nullopt;
    place.host = true;
    place.host_base = base;
  } else if (!place.known && one.kind != MemoryKind::kVmem) {
    return std::nullopt;  // older runtimes do not know virtual memory; its end goes through a hook
  }
  return place;
}

bool MemoryReader::Start(int piece, uint64_t address, size_t size, const Place& place) {
  if (place.host) return true;  // copied in Await's place, see Read
  Real().core.hsa_signal_store_relaxed_fn(signals_[piece], 1);
  const bool other_gpu = place.known && IsGpu(AgentIndex(place.owner));
  return Real().amd.hsa_amd_memory_async_copy_fn(pieces_[piece], cpu_,
                                                 reinterpret_cast<const void*>(address),
                                                 other_gpu ? place.owner : gpu_, size, 0, nullptr,
                                                 signals_[piece]) == HSA_STATUS_SUCCESS;
}

bool MemoryReader::Await(int piece) {
  const uint64_t start = base::ClockNs(CLOCK_MONOTONIC);
  for (;;) {
    const hsa_signal_value_t value = Real().core.hsa_signal_wait_scacquire_fn(
        signals_[piece], HSA_SIGNAL_CONDITION_LT, 1, 1'000'000, HSA_WAIT_STATE_BLOCKED);
    if (value < 1) return value == 0;  // negative: the runtime's sign of a failed copy
    stuck_ = base::ClockNs(CLOCK_MONOTONIC) - start > patience_ns_;
    if (stuck_) return false;
  }
}

bool MemoryReader::Read(uint64_t address, uint64_t size, const Place& place, const Take& take) {
  const auto length = [&](uint64_t offset) {
    return static_cast<size_t>(std::min<uint64_t>(kPiece, size - offset));
  };
  if (place.host) {
    for (uint64_t offset = 0; offset < size; offset += kPiece) {
      // A copy, because the program may be writing; and by the kernel, which can tell us of
      // memory that is not there (managed memory is unmapped without telling the runtime). Never by
      // the GPU, which would fault there.
      const size_t bytes = length(offset);
      if (!ReadOwnMemory(place.host_base + offset, pieces_[0], bytes) ||
          !take(offset, {pieces_[0], bytes}))
        return false;
    }
    return true;
  }
  // While one piece is taken the next is on its way.
  if (size != 0 && !Start(0, address, length(0), place)) return false;
  int piece = 0;
  for (uint64_t offset = 0; offset < size; offset += kPiece, piece ^= 1) {
    if (!Await(piece)) return false;
    const uint64_t next = offset + kPiece;
    const bool more = next < size;
    if (more && !Start(piece ^ 1, address + next, length(next), place)) return false;
    if (!take(offset, {pieces_[piece], length(offset)})) {
      if (more) Await(piece ^ 1);
      return false;
    }
  }
  return true;
}

}  // namespace rochound::agent
