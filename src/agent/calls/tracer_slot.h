// SPDX-License-Identifier: MIT
//
// The one word in which a library (HIP, libroctx64) keeps its tracer's callback. The library has a
// function that stores a callback there, whoever's was there before, and none that tells it. So
// the word is found in that function's code, and taken and given back only in exchange for what we
// expect there: another tool's callback is never overwritten. Any thread; nothing fails.
#pragma once

#include <cstdint>

namespace rochound::agent {

class TracerSlot {
 public:
  TracerSlot() = default;
  // `store`: the library's function that stores its argument. Not found where that function does
  // anything else, too.
  explicit TracerSlot(const void* store);

  bool found() const { return word_ != nullptr; }
  // False: another tool's callback is there, or the word was not found.
  bool Take(const void* ours) const;
  // Empties the word if our callback is still there.
  void Release(const void* ours) const;

 private:
  uintptr_t* word_ = nullptr;
};

}  // namespace rochound::agent
