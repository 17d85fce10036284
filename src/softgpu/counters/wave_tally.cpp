// SPDX-License-Identifier: MIT
#include "softgpu/counters/wave_tally.h"

#include <algorithm>
#include <bit>
#include <span>

#include "softgpu/counters/access_trace.h"
#include "softgpu/counters/cache_model.h"
#include "softgpu/counters/lane_accesses.h"
#include "softgpu/isa/code_cache.h"

namespace rochound::softgpu {
namespace {

using enum InstructionClass;

unsigned IndexOf(MemoryAction action) { return static_cast<unsigned>(action) - 1; }
unsigned IndexOf(MemorySpace space) { return static_cast<unsigned>(space); }

constexpr MemorySpace kSpaces[] = {MemorySpace::kGlobal, MemorySpace::kLds, MemorySpace::kScratch,
                                   MemorySpace::kScalar};

bool HasFailed(StopReason reason) {
  return reason != StopReason::kNone && reason != StopReason::kEnd &&
         reason != StopReason::kBarrier && reason != StopReason::kYield;
}

}  // namespace

void Sums::Add(const Sums& other) {
  if (executed.size() < other.executed.size()) executed.resize(other.executed.size());
  for (size_t i = 0; i < other.executed.size(); ++i) executed[i] += other.executed[i];
  if (active.size() < other.active.size()) active.resize(other.active.size());
  for (size_t i = 0; i < other.active.size(); ++i) active[i] += other.active[i];
  footprint.Merge(other.footprint);
  lanes_active += other.lanes_active;
  lanes_possible += other.lanes_possible;
  for (unsigned space = 0; space < kMemorySpaces; ++space) {
    for (unsigned action = 0; action < kMemoryActions; ++action) {
      memory[space].bytes[action] += other.memory[space].bytes[action];
      memory[space].lines[action] += other.memory[space].lines[action];
    }
  }
  lds.instructions += other.lds.instructions;
  lds.lane_accesses += other.lds.lane_accesses;
  lds.cycles += other.lds.cycles;
  lds.bank_conflicts += other.lds.bank_conflicts;
  lds.address_conflicts += other.lds.address_conflicts;
  branches_taken += other.branches_taken;
  branches_not_taken += other.branches_not_taken;
  branches_divergent += other.branches_divergent;
  exec_splits += other.exec_splits;
  barriers += other.barriers;
  atomic_lanes += other.atomic_lanes;
  dual_issued += other.dual_issued;
  waves += other.waves;
  busy.simd += other.busy.simd;
  busy.scalar += other.busy.scalar;
  busy.lds += other.busy.lds;
  busy.memory += other.busy.memory;
  wave_cycles += other.wave_cycles;
  longest_wave = std::max(longest_wave, other.longest_wave);
  // One more than the most means that there are more: nothing of that is shown.
  if (lengths.size() + other.lengths.size() <= kMostLengths)
    lengths.insert(lengths.end(), other.lengths.begin(), other.lengths.end());
  else
    lengths.resize(kMostLengths + 1);
  for (const auto& [address, cost] : other.code) {
    CodeSums& sum = code[address];
    if (sum.text.empty()) sum.text = cost.text;
    sum.hits += cost.hits;
    sum.latency += cost.latency;
    sum.stall += cost.stall;
    sum.idle += cost.idle;
  }
}

void WaveTally::Arrivals::Add(uint64_t when) {
  if (last_ - first_ == kMost) ++first_;
  when_[last_++ % kMost] = when;
}

uint64_t WaveTally::Arrivals::WhenAtMost(unsigned left) {
  uint64_t when = 0;
  while (last_ - first_ > left) when = std::max(when, when_[first_++ % kMost]);
  return when;
}

void WaveTally::Reset(const TargetRules& rules, Sums* sums, AccessWriter* accesses,
                      uint64_t group) {
  rules_ = &rules;
  sums_ = sums;
  accesses_ = accesses;
  group_ = group;
  split_ = false;
  clock_ = 0;
  fetching_ = 0;
  loads_.Clear();
  stores_.Clear();
  local_.Clear();
  ++sums->waves;
}

void WaveTally::End() {
  sums_->wave_cycles += clock_;
  sums_->longest_wave = std::max(sums_->longest_wave, clock_);
  if (sums_->by_address && sums_->lengths.size() <= Sums::kMostLengths) [[unlikely]]
    sums_->lengths.push_back({group_, clock_});
}

void WaveTally::Look(const Wave& wave, const Op* op, const OpFacts& facts) {
  access_ = {};
  TraceMemory(wave, op, facts.form, facts.bytes, &trace_);
  std::span<const MemoryPart> parts(trace_.parts.data(), trace_.count);
  for (const MemoryPart& part : parts) access_.bytes[IndexOf(part.space)] += part.bytes;
  for (MemorySpace space : kSpaces) {
    if (space == MemorySpace::kLds || access_.bytes[IndexOf(space)] == 0) continue;
    access_.lines[IndexOf(space)] =
        CountLines(parts, space,
                   space == MemorySpace::kScalar ? rules_->scalar_line_bytes : rules_->line_bytes);
  }
  LdsCost cost;
  auto add_lds = [&](MemoryAction action, unsigned bytes, std::span<const MemoryPart> places) {
    cost += CountLdsCycles(rules_->lds_grouping, action, bytes, places);
    access_.lds_lanes += static_cast<unsigned>(
        std::count_if(places.begin(), places.end(),
                      [](const MemoryPart& part) { return part.space == MemorySpace::kLds; }));
  };
  if (access_.bytes[IndexOf(MemorySpace::kLds)] != 0) {
    if (facts.form == AddressForm::kLdsPair) {
      add_lds(facts.action, facts.bytes, parts.first(parts.size() / 2));
      add_lds(facts.action, facts.bytes, parts.last(parts.size() / 2));
    } else {
      add_lds(facts.action, facts.bytes, parts);
    }
  }
  stored_from_ = trace_.count;
  if (facts.to_lds) {
    const unsigned bytes = std::max<unsigned>(facts.bytes, 4);
    TraceLoadedToLds(wave, op, facts.form, bytes, &trace_);
    parts = {trace_.parts.data() + stored_from_, trace_.count - stored_from_};
    add_lds(MemoryAction::kStore, bytes, parts);
    access_.stored_to_lds = static_cast<unsigned>(parts.size()) * bytes;
  }
  access_.lds_cycles = cost.cycles;
  access_.bank_conflicts = cost.bank_conflicts;
  access_.address_conflicts = cost.address_conflicts;
}

void WaveTally::CountMemory(const OpFacts& facts) {
  const unsigned action = IndexOf(facts.action);
  for (unsigned space = 0; space < kMemorySpaces; ++space) {
    sums_->memory[space].bytes[action] += access_.bytes[space];
    sums_->memory[space].lines[action] += access_.lines[space];
  }
  for (unsigned i = 0; i < trace_.count; ++i) sums_->footprint.Add(trace_.parts[i], facts.action);
  if (sums_->caches != nullptr) [[unlikely]]
    sums_->caches->Access(group_, {trace_.parts.data(), stored_from_}, facts.action);
  sums_->memory[IndexOf(MemorySpace::kLds)].bytes[IndexOf(MemoryAction::kStore)] +=
      access_.stored_to_lds;
  if (access_.lds_lanes != 0) {
    LdsSums& lds = sums_->lds;
    ++lds.instructions;
    lds.lane_accesses += access_.lds_lanes;
    lds.cycles += access_.lds_cycles;
    lds.bank_conflicts += access_.bank_conflicts;
    lds.address_conflicts += access_.address_conflicts;
  }
}

void WaveTally::CountControl(const Wave& wave, const Op* op, const OpFacts& facts, uint64_t exec,
                             const Op* next) {
  if (facts.writes_exec) {
    const uint64_t now = wave.exec();
    split_ = now != 0 && now != exec && (now & ~exec) == 0;
    sums_->exec_splits += split_;
  }
  if (facts.instruction_class == kBranch) {
    ++(next == op + 1 ? sums_->branches_not_taken : sums_->branches_taken);
    if (facts.is_exec_branch) {
      sums_->branches_divergent += split_;
      split_ = false;
    }
  }
  sums_->barriers += facts.is_arrival;
}

void WaveTally::Count(const Wave& wave, const Op* op, const OpFacts& facts, uint64_t exec,
                      const Op* next) {
  if (facts.id >= sums_->executed.size()) [[unlikely]] {
    sums_->executed.resize(facts.id + 64);
    sums_->active.resize(facts.id + 64);
  }
  ++sums_->executed[facts.id];
  if (facts.is_vector) {
    const auto lanes = static_cast<unsigned>(std::popcount(exec));
    sums_->active[facts.id] += lanes;
    sums_->lanes_active += lanes;
    sums_->lanes_possible += wave.lanes;
    sums_->dual_issued += facts.is_dual;
  }
  if (facts.action != MemoryAction::kNone) {
    CountMemory(facts);
    if (accesses_ != nullptr) [[unlikely]] {
      accesses_->Add(wave, group_, *op, facts, exec, {trace_.parts.data(), trace_.count},
                     stored_from_);
    }
    if (facts.action == MemoryAction::kAtomic) {
      sums_->atomic_lanes += facts.is_vector ? static_cast<unsigned>(std::popcount(exec)) : 1u;
    }
  }
  CountControl(wave, op, facts, exec, next);
  if (facts.is_arrival && accesses_ != nullptr) [[unlikely]]
    accesses_->AddBarrier(wave, group_);
  const uint64_t before = clock_;
  Advance(wave, op, facts, next != op + 1);
  if (sums_->by_address) [[unlikely]]
    CountCode(op, facts, before, next != op + 1);
}

// As a thread trace has it: what a branch costs beyond its issue is seen as idle time before the
// next instruction, and all that a wait adds to its own issue as a stall.
void WaveTally::CountCode(const Op* op, const OpFacts& facts, uint64_t before, bool taken) {
  CodeSums& code = sums_->code[op->address()];
  if (code.hits == 0) code.text = op->source->text;
  const uint64_t issue = rules_->issue_interval;
  uint64_t cycles = clock_ - before;
  code.idle += fetching_;
  fetching_ = 0;
  if (facts.instruction_class == kBranch && taken) {
    fetching_ = cycles - std::min(cycles, issue);
    cycles -= fetching_;
  }
  ++code.hits;
  code.latency += cycles;
  if (facts.instruction_class == kWait) code.stall += cycles - std::min(cycles, issue);
}

// The cost model: docs/softgpu-counters.md describes it.
void WaveTally::Advance(const Wave& wave, const Op* op, const OpFacts& facts, bool taken) {
  const TargetRules& rules = *rules_;
  uint64_t cycles = rules.issue_interval;
  const uint64_t passes = std::max(1u, wave.lanes / rules.simd_lanes);
  switch (facts.instruction_class) {
    case kValu:
    case kValuTranscendental:
    case kMatrix: {
      uint64_t busy = passes;
      if (facts.cost == CostKind::kDouble) busy *= rules.double_factor;
      if (facts.cost == CostKind::kWideInteger) busy *= rules.wide_integer_factor;
      if (facts.cost == CostKind::kTranscendental) busy *= rules.transcendental_factor;
      if (facts.cost == CostKind::kTranscendentalDouble) busy *= rules.transcendental_double_factor;
      if (facts.cost == CostKind::kMatrix) {
        const uint32_t rate =
            rules.multiplications_per_cycle[static_cast<unsigned>(facts.matrix_kind)];
        if (rate != 0) busy = std::max<uint64_t>(busy, facts.multiplications / rate);
      }
      sums_->busy.simd += busy;
      cycles = std::max(cycles, busy);
      break;
    }
    case kSalu:
      ++sums_->busy.scalar;
      break;
    case kBranch:
      ++sums_->busy.scalar;
      if (taken) cycles = std::max<uint64_t>(cycles, rules.branch_cycles);
      break;
    case kWait:
      WaitFor(wave, op, facts);
      break;
    case kSmem:
      local_.Add(clock_ + cycles + rules.scalar_latency);
      break;
    case kLdsExchange:
      access_ = {};
      access_.lds_cycles = static_cast<unsigned>(std::max(1u, wave.lanes / 32u));
      [[fallthrough]];
    case kLdsLoad:
    case kLdsStore:
    case kLdsAtomic:
      sums_->busy.lds += access_.lds_cycles;
      local_.Add(clock_ + cycles + rules.lds_latency + access_.lds_cycles);
      break;
    default: {
      if (facts.action == MemoryAction::kNone) break;
      const uint64_t lines = access_.lines[IndexOf(MemorySpace::kGlobal)] +
                             access_.lines[IndexOf(MemorySpace::kScratch)];
      sums_->busy.memory += lines;
      sums_->busy.lds += access_.lds_cycles;
      const uint64_t arrival = clock_ + cycles + rules.memory_latency + lines + access_.lds_cycles;
      const bool is_store = facts.action == MemoryAction::kStore;
      const bool stores_apart = (wave.architecture->bit & kRdnaTargets) != 0;
      (is_store && stores_apart ? stores_ : loads_).Add(arrival);
    }
  }
  clock_ += cycles;
}

void WaveTally::WaitFor(const Wave& wave, const Op* op, const OpFacts& facts) {
  const uint32_t value = op->source->Simm16();
  const std::string& name = facts.mnemonic;
  auto wait = [&](Arrivals& arrivals, unsigned left) {
    clock_ = std::max(clock_, arrivals.WhenAtMost(left));
  };
  if (name == "s_waitcnt") {
    if (wave.architecture->bit & kGfx9Targets) {
      wait(loads_, (value & 0xF) | (value >> 14 & 3) << 4);
      wait(local_, value >> 8 & 0xF);
    } else if (wave.architecture->bit & kGfx10Targets) {
      wait(loads_, (value & 0xF) | (value >> 14 & 3) << 4);
      wait(local_, value >> 8 & 0x3F);
    } else {
      wait(loads_, value >> 10 & 0x3F);
      wait(local_, value >> 4 & 0x3F);
    }
  } else if (name == "s_wait_loadcnt" || name == "s_waitcnt_vmcnt") {
    wait(loads_, value & 0x3F);
  } else if (name == "s_wait_storecnt" || name == "s_waitcnt_vscnt") {
    wait(stores_, value & 0x3F);
  } else if (name == "s_wait_dscnt" || name == "s_wait_kmcnt" || name == "s_waitcnt_lgkmcnt") {
    wait(local_, value & 0x3F);
  } else if (name == "s_wait_loadcnt_dscnt" || name == "s_wait_storecnt_dscnt") {
    wait(name[7] == 'l' ? loads_ : stores_, value >> 8 & 0x3F);
    wait(local_, value & 0x3F);
  } else if (name == "s_nop") {
    clock_ += uint64_t{value & 0xF} * rules_->issue_interval;
  }
}

uint64_t RunCountedWave(Wave& wave, uint64_t budget) {
  WaveTally& tally = *wave.tally;
  const Op* op = wave.next;
  wave.stop = StopReason::kNone;
  uint64_t left = budget;
  while (left != 0) {
    const OpFacts& facts = FactsOf(*op);
    if (facts.is_continuation) {
      op = TakeBranch(wave, op);
      continue;
    }
    --left;
    const uint64_t exec = wave.exec();
    if (facts.action != MemoryAction::kNone) tally.Look(wave, op, facts);
    const Op* next = op->exec(wave, op);
    if (next != nullptr) {
      tally.Count(wave, op, facts, exec, next);
      op = next;
      continue;
    }
    if (wave.stop == StopReason::kEnd) {
      tally.Count(wave, op, facts, exec, op + 1);
      tally.End();
    } else if (!HasFailed(wave.stop) && wave.next != op) {  // else nothing was done, or not yet
      tally.Count(wave, op, facts, exec, wave.next);
    }
    return budget - left;
  }
  wave.next = op;
  return budget;
}

}  // namespace rochound::softgpu
