// SPDX-License-Identifier: MIT
//
// The GPU page map of one device in one process: which GPU addresses are mapped, where their bytes
// are in this process, and what may be done with them. The driver maps and unmaps; the threads that
// run waves and queues look addresses up through a Reader of their own. A look-up takes no lock.
// Unmap is a synchronous TLB shoot-down: when it returns, no Reader still uses the old mapping, so
// the driver may release the bytes. A thread must therefore never block on the driver while its
// Reader is entered.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"

namespace rochound::softgpu {

inline constexpr uint64_t kGpuPageSize = 4096;

enum Access : uint8_t { kRead = 1, kWrite = 2, kExecute = 4 };

// One run of mapped GPU addresses whose bytes are contiguous in this process.
struct Region {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint8_t* host = nullptr;  // where `begin` is in this process
  uint8_t access = 0;       // Access bits

  uint8_t* HostAddress(uint64_t address) const { return host + (address - begin); }
};

class AddressSpace {
 public:
  class Reader;

  AddressSpace();
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // Maps [address, address + size) to host bytes; replaces whatever was mapped there. Addresses and
  // size are multiples of kGpuPageSize.
  void Map(uint64_t address, uint64_t size, uint8_t* host, uint8_t access);

  // Unmaps the range, or the part of it that is mapped. Waits for Readers (see above).
  void Unmap(uint64_t address, uint64_t size);

  // All regions, sorted. For diagnosis and tests.
  std::vector<Region> Snapshot() const;

 private:
  struct Table {
    std::vector<Region> regions;  // sorted by begin, disjoint
    uint64_t code_changes = 0;    // how often executable memory was mapped or unmapped
  };

  // The present table without [begin, end).
  std::shared_ptr<Table> TableWithout(uint64_t begin, uint64_t end) const ROCHOUND_REQUIRES(mutex_);
  void Publish(std::shared_ptr<const Table> table) ROCHOUND_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::shared_ptr<const Table> table_ ROCHOUND_GUARDED_BY(mutex_);
  std::atomic<uint64_t> generation_{1};
  std::vector<Reader*> readers_ ROCHOUND_GUARDED_BY(mutex_);
};

// One thread's view of an AddressSpace. Enter before the first Find, Refresh now and then (at least
// every few thousand instructions), Leave before blocking on anything.
class AddressSpace::Reader {
 public:
  explicit Reader(AddressSpace& space);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void Enter();
  void Leave();
  // Picks up changes of the map; pointers into regions found before are void afterwards.
  void Refresh() {
    if (space_.generation_.load(std::memory_order_acquire) != seen_.load(std::memory_order_relaxed))
      Reload();
  }

  // Grows when executable memory is mapped or unmapped: code decoded before may be another's.
  uint64_t code_changes() const { return table_->code_changes; }

  // The region that holds the address, or nullptr. Valid until Refresh or Leave.
  const Region* Find(uint64_t address) {
    if (address - last_->begin < last_->end - last_->begin) return last_;
    return FindSlow(address);
  }

  // The GPU address whose byte is at this place in this process. Slow; async-signal-safe.
  std::optional<uint64_t> GpuAddressOf(const void* host) const;

  // The host address of [address, address + size) if all of it is mapped in one region with the
  // wanted access, else nullptr.
  uint8_t* Translate(uint64_t address, uint64_t size, uint8_t access) {
    const Region* region = Find(address);
    if (region == nullptr || size > region->end - address || (region->access & access) != access)
      return nullptr;
    return region->HostAddress(address);
  }

 private:
  friend class AddressSpace;
  static constexpr uint64_t kOutside = 0;  // seen_ while not entered

  void Reload();
  const Region* FindSlow(uint64_t address);

  AddressSpace& space_;
  std::shared_ptr<const Table> table_;
  std::atomic<uint64_t> seen_{kOutside};
  Region empty_;                  // matches no address
  const Region* last_ = &empty_;  // the last hit
};

}  // namespace rochound::softgpu
