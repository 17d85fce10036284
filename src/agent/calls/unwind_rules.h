// SPDX-License-Identifier: MIT
//
// How to get from one frame of a stack to the one that called it, at a given instruction: what the
// compiler's unwind tables (.eh_frame) say, boiled down to one word and kept in a table, so that a
// frame seen before costs a few nanoseconds and no reading of tables. Any thread, no lock, no
// allocation in RuleAt; tables are read by a system call that reports bad addresses, so neither a
// wrong address nor a library unloaded under us can crash the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/calls/libraries.h"

namespace rochound::agent {

// With CFA, the stack pointer's value before the call: CFA = (from_bp ? bp : sp) + cfa_offset; the
// return address is at CFA - 8; the caller's bp is at CFA + bp_offset, or unchanged. One word,
// since that is what the table keeps and what a walk wants in a register.
class UnwindRule {
 public:
  enum class Kind : uint8_t { kNone, kRule, kOutermost };  // none: the tables do not tell

  UnwindRule() = default;
  // `code`: the instruction is in a library known since SetUnwindLibraries. Offsets below 2^23.
  UnwindRule(Kind kind, bool code) : bits_(static_cast<uint64_t>(kind) | (code ? kCode : 0)) {}
  static UnwindRule Step(bool from_bp, int64_t cfa_offset, bool bp_saved, int64_t bp_offset) {
    UnwindRule rule(Kind::kRule, true);
    rule.bits_ |= (from_bp ? kFromBp : 0) | (bp_saved ? kBpSaved : 0) |
                  (static_cast<uint64_t>(cfa_offset) & 0xffffff) << 8 |
                  (static_cast<uint64_t>(bp_offset) & 0xffffff) << 40;
    return rule;
  }
  static UnwindRule FromBits(uint64_t bits) {
    UnwindRule rule;
    rule.bits_ = bits;
    return rule;
  }

  Kind kind() const { return static_cast<Kind>(bits_ & 3); }
  bool code() const { return (bits_ & kCode) != 0; }
  bool from_bp() const { return (bits_ & kFromBp) != 0; }
  bool bp_saved() const { return (bits_ & kBpSaved) != 0; }
  int64_t cfa_offset() const { return static_cast<int64_t>(bits_ << 32) >> 40; }
  int64_t bp_offset() const { return static_cast<int64_t>(bits_) >> 40; }
  uint64_t bits() const { return bits_; }

 private:
  static constexpr uint64_t kCode = 4;
  static constexpr uint64_t kFromBp = 8;
  static constexpr uint64_t kBpSaved = 16;
  uint64_t bits_ = 0;
};

// The rule at an instruction. A return address is after the call: ask for one less.
inline UnwindRule RuleAt(uint64_t instruction);

// Reads the rule from the tables, without the cache; what RuleAt does for an instruction not seen
// yet.
UnwindRule ReadRule(uint64_t instruction);

// Which libraries there are, and where their tables; forgets all rules. Set-up and drain thread.
void SetUnwindLibraries(const std::vector<Library>& libraries);

// Whether an address is in our own code.
bool IsOurCode(uint64_t address);

namespace internal {

// Filled in once each: a key that is there stays until all are forgotten. Half of the collisions
// are solved by looking at the next few.
struct CachedRule {
  std::atomic<uint64_t> instruction;
  std::atomic<uint64_t> bits;
};
inline constexpr size_t kCachedRules = 16384;
extern CachedRule cached_rules[kCachedRules + 4];

inline CachedRule* CachePlace(uint64_t instruction) {
  return &cached_rules[(instruction * 0x9E3779B97F4A7C15u >> 40) % kCachedRules];
}
UnwindRule ReadAndKeep(uint64_t instruction);

}  // namespace internal

inline UnwindRule RuleAt(uint64_t instruction) {
  const internal::CachedRule* place = internal::CachePlace(instruction);
  if (__builtin_expect(place->instruction.load(std::memory_order_acquire) == instruction, 1))
    return UnwindRule::FromBits(place->bits.load(std::memory_order_relaxed));
  return internal::ReadAndKeep(instruction);
}

}  // namespace rochound::agent
