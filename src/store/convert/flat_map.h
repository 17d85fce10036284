// SPDX-License-Identifier: MIT
//
// A hash table from numbers to numbers, for millions of insertions and removals per second: open
// addressing, linear probing, no tombstones. One thread. Grows with what it holds, never shrinks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rochound::store {

class FlatMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  FlatMap() : slots_(kFirstSlots, Slot{0, kNone}) {}

  size_t size() const { return size_; }

  // kNone: not there.
  uint32_t Find(uint64_t key) const {
    for (size_t at = Home(key);; at = Next(at)) {
      if (slots_[at].value == kNone) return kNone;
      if (slots_[at].key == key) return slots_[at].value;
    }
  }

  // Replaces the value of a key that is there already. A value may not be kNone.
  void Insert(uint64_t key, uint32_t value) {
    if (2 * (size_ + 1) > slots_.size()) Grow();
    size_t at = Home(key);
    while (slots_[at].value != kNone && slots_[at].key != key) at = Next(at);
    if (slots_[at].value == kNone) ++size_;
    slots_[at] = {key, value};
  }

  // Returns the value that was there, or kNone.
  uint32_t Remove(uint64_t key) {
    size_t at = Home(key);
    while (slots_[at].value != kNone && slots_[at].key != key) at = Next(at);
    const uint32_t value = slots_[at].value;
    if (value == kNone) return kNone;
    --size_;
    // Those after that would no longer be found across the hole move into it.
    for (size_t other = Next(at); slots_[other].value != kNone; other = Next(other)) {
      const size_t home = Home(slots_[other].key);
      const bool between = at <= other ? at < home && home <= other : at < home || home <= other;
      if (between) continue;
      slots_[at] = slots_[other];
      at = other;
    }
    slots_[at].value = kNone;
    return value;
  }

 private:
  struct Slot {
    uint64_t key;
    uint32_t value;
  };
  static constexpr size_t kFirstSlots = 1024;  // a power of two

  size_t Home(uint64_t key) const {
    return (key * 0x9e3779b97f4a7c15ull >> 20) & (slots_.size() - 1);
  }
  size_t Next(size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void Grow() {
    std::vector<Slot> old(2 * slots_.size(), Slot{0, kNone});
    std::swap(old, slots_);
    size_ = 0;
    for (const Slot& slot : old)
      if (slot.value != kNone) Insert(slot.key, slot.value);
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace rochound::store
