// SPDX-License-Identifier: MIT
//
// The analyzer `bounds`: accesses outside of every allocation, in memory that was freed, or outside
// of the allocation that the kernel's argument points into, though another one may be there; and
// past the end of the workgroup's LDS. The agent writes down what is allocated when.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "probe/analyzer.h"

namespace rochound::probe {

enum class BoundsKind { kPastEnd, kBeforeStart, kFreed, kNowhere };

struct BadAccess {
  std::string kernel;
  Location at;
  std::string action;
  bool lds = false;
  uint64_t bytes = 0;  // of each lane
  BoundsKind kind = BoundsKind::kNowhere;
  uint64_t lanes = 0;
  uint64_t in_another = 0;      // lanes that met another allocation, which notices nothing
  std::string argument;         // that the pointer was made of; empty: not known
  bool argument_is_in = false;  // and it points into this allocation
  uint64_t base = 0;            // of the allocation that is left, or was freed
  uint64_t size = 0;
  uint64_t nearest = 0;   // bytes between it and the access
  uint64_t farthest = 0;  // of all lanes
  // The first one.
  uint64_t process = 0, dispatch = 0, group = 0, wave = 0, lane = 0, address = 0;
};

class BoundsAnalyzer final : public Analyzer {
 public:
  explicit BoundsAnalyzer(const AnalyzerOutput& output) : format_(output.format) {}
  void OnAccess(const AccessMessage& message) override;
  void OnMemory(const MemoryMessage& message) override;
  std::string Answer(const StreamSummary& summary) override;
  std::vector<BadAccess> Found() const;  // most lanes first

 private:
  struct Allocation {
    uint64_t base = 0;
    uint64_t size = 0;
    bool mapped = false;
    bool Has(uint64_t address) const { return address - base < size; }
  };
  struct Memory {
    std::map<uint64_t, Allocation> live;
    std::vector<Allocation> freed;  // in that order
  };

  // With what is mapped beside it; size 0: none.
  static Allocation LiveAt(const Memory& memory, uint64_t address);
  static Allocation FreedAt(const Memory& memory, uint64_t address);
  // own: what the argument points into; stale: it did, until that was freed. Size 0: not known.
  void CheckLane(const AccessMessage& message, const Memory& memory, const Allocation& own,
                 const Allocation& stale, uint64_t lane, uint64_t address);
  std::string AllClear() const;
  void Add(const AccessMessage& message, BoundsKind kind, const Allocation& left, uint64_t lane,
           uint64_t address, bool in_another);

  AnswerFormat format_;
  std::map<uint64_t, Memory> memory_;  // of each process
  using Key = std::tuple<std::string, std::string, uint64_t, uint64_t, std::string, BoundsKind>;
  std::map<Key, BadAccess> found_;
  uint64_t by_other_pointers_ = 0;  // lanes, of which it is not known which allocation is theirs
  bool lds_ = false;                // some were in LDS
};

}  // namespace rochound::probe
