// SPDX-License-Identifier: MIT
//
// Reads memory that a GPU sees, wherever it is: the host's by a copy, a GPU's by its copy engine
// into pinned memory of ours (reading it across the bus would take ages). On the thread of the
// program that is about to launch; the caller holds the allocations, so that nothing goes away.
#pragma once

#include <hsa/hsa.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "agent/allocations.h"

namespace rochound::agent {

class MemoryReader {
 public:
  static constexpr size_t kPiece = 4 << 20;

  // A copy that faults never ends; after so long it is given up.
  static constexpr uint64_t kPatienceNs = 30'000'000'000;

  // `gpu` sees the memory. Ready() is false if there is no room for pieces.
  explicit MemoryReader(hsa_agent_t gpu, uint64_t patience_ns = kPatienceNs);
  ~MemoryReader();
  MemoryReader(const MemoryReader&) = delete;
  MemoryReader& operator=(const MemoryReader&) = delete;
  bool Ready() const { return pieces_[1] != nullptr; }
  bool stuck() const { return stuck_; }  // a copy was given up

  // What is known about an address.
  struct Place {
    hsa_agent_t owner{};
    bool host = false;   // the host reads it at host_base
    bool known = false;  // to the runtime
    uint64_t host_base = 0;
    uint64_t bytes = 0;  // from the address on, of the block that the runtime knows
  };
  Place Find(uint64_t address) const;
  // An allocation's place. None: it may not be there any more, and a GPU that reads it faults.
  std::optional<Place> FindAllocation(uint64_t base, const Allocation& one) const;

  // Hands over the range piece by piece, in order; each piece but the last is kPiece long. False:
  // it could not be read, or `take` said no.
  using Take = std::function<bool(uint64_t offset, std::span<const std::byte> bytes)>;
  bool Read(uint64_t address, uint64_t size, const Place& place, const Take& take);

 private:
  bool Start(int piece, uint64_t address, size_t size, const Place& place);
  bool Await(int piece);

  hsa_agent_t gpu_;
  hsa_agent_t cpu_{};
  std::byte* pieces_[2] = {};
  hsa_signal_t signals_[2] = {};
  uint64_t patience_ns_;
  bool stuck_ = false;
};

}  // namespace rochound::agent
