// SPDX-License-Identifier: MIT
//
// Counting while waves run. RunCountedWave is RunWave's counting twin: it looks at each instruction
// before and after it runs. What it finds goes into the Sums of the thread that runs the wave; a
// WaveTally keeps what belongs to one wave from slice to slice. Nothing here locks or fails.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "softgpu/counters/footprint.h"
#include "softgpu/counters/instruction_class.h"
#include "softgpu/counters/target_rules.h"
#include "softgpu/counters/wave_schedule.h"
#include "softgpu/isa/wave.h"

namespace rochound::softgpu {

// What a level of memory was asked for, before any cache. The index is MemoryAction - 1.
struct MemorySums {
  std::array<uint64_t, kMemoryActions> bytes{};
  std::array<uint64_t, kMemoryActions> lines{};  // LDS has none
};

struct LdsSums {
  uint64_t instructions = 0;  // that touched LDS
  uint64_t lane_accesses = 0;
  uint64_t cycles = 0;
  uint64_t bank_conflicts = 0;
  uint64_t address_conflicts = 0;
};

// Cycles that the model sees each kind of unit busy.
struct UnitSums {
  uint64_t simd = 0;    // VALU and matrix
  uint64_t scalar = 0;  // SALU and branches
  uint64_t lds = 0;
  uint64_t memory = 0;  // one line per cycle
};

// What one instruction of the code cost, by the model; how often it completed is exact.
struct CodeSums {
  std::string text;
  uint64_t hits = 0;
  uint64_t latency = 0;  // with stall
  uint64_t stall = 0;
  uint64_t idle = 0;
};

class CacheModel;

struct Sums {
  std::vector<uint64_t> executed;  // by OpFacts::id
  std::vector<uint64_t> active;    // lanes of a vector instruction, by OpFacts::id
  uint64_t lanes_active = 0;
  uint64_t lanes_possible = 0;
  std::array<MemorySums, kMemorySpaces> memory;
  Footprint footprint;
  LdsSums lds;
  uint64_t branches_taken = 0;
  uint64_t branches_not_taken = 0;
  uint64_t branches_divergent = 0;
  uint64_t exec_splits = 0;
  uint64_t barriers = 0;
  uint64_t atomic_lanes = 0;
  uint64_t dual_issued = 0;
  uint64_t waves = 0;

  UnitSums busy;
  uint64_t wave_cycles = 0;  // of all waves, each as if alone
  uint64_t longest_wave = 0;

  CacheModel* caches = nullptr;  // of the dispatch; nullptr: not modelled

  bool by_address = false;  // fill the next two
  std::unordered_map<uint64_t, CodeSums> code;
  std::vector<WaveLength> lengths;  // more than kMostLengths: not all of them

  static constexpr size_t kMostLengths = size_t{1} << 20;

  void Add(const Sums& other);
};

class AccessWriter;

class WaveTally {
 public:
  // A wave of this workgroup starts. `accesses` is nullptr if nobody wants them.
  void Reset(const TargetRules& rules, Sums* sums, AccessWriter* accesses, uint64_t group);

  // Around one instruction that has run: `next` is what follows it, `exec` what EXEC was before.
  void Look(const Wave& wave, const Op* op, const OpFacts& facts);
  void Count(const Wave& wave, const Op* op, const OpFacts& facts, uint64_t exec, const Op* next);
  void End();

 private:
  // Data in flight, in the order it was asked for, and when it arrives.
  class Arrivals {
   public:
    void Clear() { first_ = last_ = 0; }
    void Add(uint64_t when);
    // When no more than `left` are in flight.
    uint64_t WhenAtMost(unsigned left);

   private:
    static constexpr unsigned kMost = 64;
    std::array<uint64_t, kMost> when_;
    unsigned first_ = 0;
    unsigned last_ = 0;
  };
  struct Access {
    std::array<unsigned, kMemorySpaces> bytes{};
    std::array<unsigned, kMemorySpaces> lines{};
    unsigned lds_lanes = 0;
    unsigned lds_cycles = 0;
    unsigned bank_conflicts = 0;
    unsigned address_conflicts = 0;
    unsigned stored_to_lds = 0;  // bytes of a load that goes there
  };

  void CountMemory(const OpFacts& facts);
  void CountControl(const Wave& wave, const Op* op, const OpFacts& facts, uint64_t exec,
                    const Op* next);
  void Advance(const Wave& wave, const Op* op, const OpFacts& facts, bool taken);
  void WaitFor(const Wave& wave, const Op* op, const OpFacts& facts);
  // The instruction that has just taken the clock from `before` to where it is.
  void CountCode(const Op* op, const OpFacts& facts, uint64_t before, bool taken);

  const TargetRules* rules_ = nullptr;
  Sums* sums_ = nullptr;
  Access access_;
  MemoryTrace trace_;
  size_t stored_from_ = 0;  // parts of trace_ that a load to LDS stores there
  AccessWriter* accesses_ = nullptr;
  uint64_t group_ = 0;
  bool split_ = false;  // the last write of EXEC left some lanes, and not all

  uint64_t clock_ = 0;
  uint64_t fetching_ = 0;  // cycles that the last branch cost the instruction that follows it
  Arrivals loads_;
  Arrivals stores_;
  Arrivals local_;  // LDS and the scalar unit
};

uint64_t RunCountedWave(Wave& wave, uint64_t budget);

}  // namespace rochound::softgpu
