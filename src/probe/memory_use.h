// SPDX-License-Identifier: MIT
//
// The analyzer `memory`: how well the lanes of a wave share cache lines and the banks of LDS, for
// each place in the source. Each access of a wave counts by itself, as if nothing were cached
// between two of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "probe/analyzer.h"

namespace rochound::probe {

struct MemoryUse {
  std::string kernel;  // symbol
  Location at;         // no file: not known
  std::string action;  // load, store, atomic
  bool lds = false;    // otherwise global memory
  uint64_t bytes = 0;  // of each lane
  uint64_t accesses = 0;
  uint64_t lanes = 0;
  uint64_t misaligned = 0;  // lanes whose address is no multiple of their bytes
  // Global memory.
  uint64_t lines = 0;         // that the accesses touched
  uint64_t needed_lines = 0;  // that would have held the same bytes, side by side
  uint64_t used_bytes = 0;    // distinct bytes of each access
  // LDS.
  uint64_t cycles = 0;
  uint64_t bank_conflicts = 0;     // cycles since lanes want different dwords of one bank
  uint64_t address_conflicts = 0;  // cycles since atomics of several lanes want the same dword
  // "same address", "side by side", "side by side, backwards", "stride 256" (bytes), "irregular";
  // "one lane" where there never were two; "scalar" of the scalar unit.
  std::string pattern;

  uint64_t Waste() const { return lds ? bank_conflicts : lines - needed_lines; }
};

class MemoryAnalyzer final : public Analyzer {
 public:
  static constexpr uint64_t kLineBytes = 128;

  explicit MemoryAnalyzer(const AnalyzerOutput& output) : format_(output.format) {}
  void OnAccess(const AccessMessage& message) override;
  std::string Answer(const StreamSummary& summary) override;
  // Global memory, then LDS; what wastes most first.
  std::vector<MemoryUse> Uses() const;

 private:
  struct Place {
    MemoryUse use;
    bool scalar = false;
    bool has_stride = false;
    bool irregular = false;
    int64_t stride = 0;
  };
  using Key =
      std::tuple<bool, std::string, std::string, uint64_t, uint64_t, std::string, uint64_t, bool>;

  Place& PlaceFor(const AccessMessage& message, bool lds);
  void AddLines(MemoryUse* use);
  static void AddCycles(const AccessMessage& message, MemoryUse* use);

  AnswerFormat format_;
  std::map<Key, Place> places_;
  // The last one, since the accesses of a loop follow each other.
  const Site* last_site_ = nullptr;
  const Dispatch* last_dispatch_ = nullptr;
  bool last_lds_ = false;
  Place* last_ = nullptr;
  std::vector<uint64_t> sorted_;
};

}  // namespace rochound::probe
