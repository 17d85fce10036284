// SPDX-License-Identifier: MIT
//
// What is known about kernel objects, by their addresses. Open addressing, filled with the owner's
// lock held, read without one: a reader sees an address only after its value. Entries are never
// removed; an object that was loaded anew under an old address gets a new value in place, so what
// readers use of a Value has to be atomic. Static storage, no allocation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace rochound::agent {

template <typename Value, unsigned kBits>
class ObjectTable {
 public:
  // Null: it is not known. Any thread.
  Value* Find(uint64_t object) {
    for (size_t at = Start(object), looked = 0; looked < kSlots; ++at, ++looked) {
      Slot& slot = slots_[at % kSlots];
      const uint64_t there = slot.object.load(std::memory_order_acquire);
      if (there == object) return &slot.value;
      if (there == 0) return nullptr;
    }
    return nullptr;
  }

  // With the owner's lock held: fill(value, fresh) sets the value; fresh: the object was not known.
  // False: the table is full.
  template <typename Fill>
  bool Put(uint64_t object, const Fill& fill) {
    size_t at = Start(object) % kSlots;
    uint64_t there = 0;
    while ((there = slots_[at].object.load(std::memory_order_relaxed)) != 0 && there != object)
      at = (at + 1) % kSlots;
    if (there == 0 && filled_ >= kMost) return false;
    fill(slots_[at].value, there == 0);
    filled_ += there == 0 ? 1 : 0;
    ROCHOUND_DCHECK(filled_ <= kMost);  // so that a look for what is not there comes to an end
    slots_[at].object.store(object, std::memory_order_release);
    return true;
  }

  // With the owner's lock held: visit(object, value).
  template <typename Visit>
  void ForEach(const Visit& visit) {
    for (Slot& slot : slots_)
      if (const uint64_t object = slot.object.load(std::memory_order_relaxed))
        visit(object, slot.value);
  }

 private:
  static constexpr size_t kSlots = size_t{1} << kBits;
  static constexpr size_t kMost = kSlots * 3 / 4;
  struct Slot {
    std::atomic<uint64_t> object{0};
    Value value{};
  };

  static size_t Start(uint64_t object) {
    return (object >> 6) * 0x9e3779b97f4a7c15ull >> (64 - kBits);
  }

  Slot slots_[kSlots];
  size_t filled_ = 0;  // with the owner's lock held
};

}  // namespace rochound::agent
