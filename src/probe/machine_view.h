// SPDX-License-Identifier: MIT
//
// Accesses as the machine code makes them without probes: what one instruction does together is one
// access, what the scalar unit does has one address. It is between the reader of a stream and an
// analyzer. Which instructions those are the pass has found out and written into the sites; where
// it could not, accesses are handed on as they are, and counted. The accesses of a wave are not in
// the order of its instructions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "probe/stream.h"

namespace rochound::probe {

class MachineView final : public Receiver {
 public:
  struct Counts {
    uint64_t asked = 0;      // accesses that came in
    uint64_t joined = 0;     // of them: done by another's instruction, or not again
    uint64_t scalar = 0;     // that the scalar unit does
    uint64_t one_lane = 0;   // that one lane does for all
    uint64_t unmatched = 0;  // of which the instructions are not known
    uint64_t made = 0;       // accesses that were handed on
  };

  explicit MachineView(Receiver* to) : to_(*to) {}

  void OnAccess(const AccessMessage& message) override;
  void OnBarrier(const BarrierMessage& message) override { to_.OnBarrier(message); }
  void OnBlock(const BlockMessage& message) override { to_.OnBlock(message); }
  void OnValue(const ValueMessage& message) override { to_.OnValue(message); }
  void OnMemory(const MemoryMessage& message) override { to_.OnMemory(message); }
  void OnWritten(const WrittenMessage& message) override { to_.OnWritten(message); }

  const Counts& counts() const { return counts_; }

 private:
  // The site as each of its instructions sees it.
  const std::vector<std::unique_ptr<Site>>& SitesOf(const Site& site);
  bool IsAgain(const AccessMessage& message);

  Receiver& to_;
  Counts counts_;
  std::map<const Site*, std::vector<std::unique_ptr<Site>>> sites_;
  std::set<std::tuple<const Dispatch*, uint64_t, uint64_t, uint64_t, const Site*>> done_;
  std::vector<uint64_t> addresses_;
};

}  // namespace rochound::probe
