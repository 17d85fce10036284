// SPDX-License-Identifier: MIT
//
// Follows the machine code of one kernel with ranges of values in place of values: what FindReach
// (reach.h) does its work with. follower.cpp has the wave's start, blocks and instructions,
// follower_memory.cpp registers and memory, follower_lanes.cpp the mask of lanes,
// follower_arithmetic.cpp what an instruction computes.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "doctor/fault/machine_state.h"
#include "doctor/fault/operand.h"
#include "doctor/fault/reach.h"

namespace rochound::doctor {

class Follower {
 public:
  Follower(const std::vector<codeobj::Instruction>& code, const std::string& target,
           const codeobj::Kernel& kernel, const LaunchFacts& launch, const ReadSaved& read)
      : code_(code), kernel_(kernel), launch_(launch), read_(read) {
    // From gfx90a on the three work-item numbers come in one register.
    packed_ids_ = target == "gfx90a" || target.starts_with("gfx94") || target == "gfx950" ||
                  target.starts_with("gfx11") || target.starts_with("gfx12");
    ids_in_ttmp_ = target.starts_with("gfx12");
  }

  Reach Follow();

 private:
  void GiveUp(const char* why);

  // --- the start of a wave

  State Entry();

  // --- blocks

  void Arrive(size_t block, const State& state);

  bool JoinRegisters(Registers* into, const Registers& from, bool widen);

  bool Join(State* into, const State& from, bool widen);

  void RunBlock(size_t block, size_t* steps);

  size_t TargetOf(size_t at) const;

  // 1: the branch is taken, 0: it is not, -1: it is not known.
  static int Decide(const std::string& name, const State& state);

  // --- registers

  int NewWide(Range range, uint64_t origins);

  static Value& At(State* state, int reg) { return state->registers[static_cast<size_t>(reg)]; }
  static const Value& At(const State& state, int reg);

  void Set(State* state, const Operand& operand, Range range, uint64_t origins);

  static void Overwritten(State* state, int reg);

  void SetWide(State* state, int reg, Range range, uint64_t origins);

  static Range Number(const Operand& operand, unsigned bits);

  Range Get(const State& state, const Operand& operand, unsigned bits = 32) const;

  // An operand of 32 bits with all that is known about it.
  static Value Whole(const State& state, const Operand& operand);

  Range GetWide(const State& state, int reg) const;

  Range Compose(const Value& low, const Value& high) const;

  static uint64_t OriginsOf(const State& state, const Operand& operand);

  static uint64_t OriginsFrom(const State& state, const Parsed& parsed, size_t first);

  uint64_t NewOrigin(const Origin& origin);

  // --- memory

  Value ArgumentWord(uint64_t offset);

  void Touch(size_t at, Access::Kind kind, Range address, uint32_t bytes, uint64_t origins);

  // The values that are loaded into registers from `reg` on: `bytes` from each of these addresses.
  void Load(State* state, int reg, Range address, uint32_t bytes, bool sign, uint64_t origins);

  // saddr + vaddr + offset, or a 64-bit vaddr + offset.
  Range AddressOf(const State& state, const Operand* vector, const Operand* scalar,
                  int64_t offset) const;

  void Memory(size_t at, const Parsed& parsed, State* state);

  void ScalarLoad(size_t at, const Parsed& parsed, State* state);

  void Call(size_t at, const Parsed& parsed, State* state);

  void Forget(State* state, const Operand& operand, uint64_t origins);

  // --- lanes

  struct Comparison {
    std::string relation;  // lt, le, gt, ge, eq, ne
    bool is_signed = false;
    unsigned bits = 32;
  };

  static std::optional<Comparison> ReadComparison(const std::string& name, const char* prefix);

  // 1: always, 0: never, -1: it depends.
  static int Compare(const Comparison& comparison, Range a, Range b);

  static int CompareUnsigned(const std::string& relation, Range a, Range b);

  // What a comparison says about a vector register, where it holds.
  std::optional<Condition> ConditionOf(const State& state, const Comparison& comparison,
                                       const Operand& left, const Operand& right) const;

  void Narrow(State* state, const Condition& condition);

  void SaveLanes(State* state, const Operand& to);

  void RestoreLanes(State* state, const Operand& from);

  bool VectorCompare(const Parsed& parsed, State* state);

  bool IsExec(const Operand& operand) const;

  // Instructions that save, narrow or restore the mask of lanes.
  bool Lanes(const Parsed& parsed, State* state);

  // --- one instruction

  void Step(size_t at, const Parsed& parsed, State* state);

  void ForgetFirst(const Parsed& parsed, State* state);

  void Buffer(size_t at, const Parsed& parsed, State* state);

  void ScalarCompare(const Parsed& parsed, State* state);

  bool Arithmetic(size_t at, const Parsed& parsed, State* state);

  const std::vector<codeobj::Instruction>& code_;
  const codeobj::Kernel& kernel_;
  const LaunchFacts& launch_;
  const ReadSaved& read_;
  bool packed_ids_ = false;
  bool ids_in_ttmp_ = false;
  int scratch_buffer_ = -1;
  Reach reach_;
  std::vector<std::vector<Parsed>> parsed_;
  std::unordered_map<uint64_t, size_t> by_address_;
  std::set<size_t> starts_;
  std::map<size_t, State> states_;
  std::map<size_t, int> visits_;
  std::deque<size_t> work_;
  std::set<size_t> queued_;
  std::vector<Wide> wides_;
  std::map<std::pair<size_t, Access::Kind>, Access> accesses_;
};

}  // namespace rochound::doctor
