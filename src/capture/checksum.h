// SPDX-License-Identifier: MIT
//
// XXH3 with 64 bits and seed 0, the checksum of everything in a bundle. It notices accidents, not
// forgery. Any thread; never fails except for want of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace rochound::capture {

uint64_t Checksum(std::span<const std::byte> bytes);

// The same over pieces that come one after the other.
class RunningChecksum {
 public:
  RunningChecksum();
  RunningChecksum(const RunningChecksum&) = delete;
  RunningChecksum& operator=(const RunningChecksum&) = delete;
  ~RunningChecksum();

  void Reset();
  void Add(std::span<const std::byte> bytes);
  uint64_t Value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rochound::capture
