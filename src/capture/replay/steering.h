// SPDX-License-Identifier: MIT
//
// Keeps the addresses of a bundle free while the HSA runtime starts: they are occupied by mappings
// without access, which are given back one by one just before the runtime is asked for the same
// addresses. Where something of ours is already there (a library, the heap, the stack: the kernel
// places them at random) the program can start itself anew with another layout. Used by the replay
// program's main thread, before other threads exist.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "capture/replay/plan.h"

namespace rochound::capture::replay {

class Steering {
 public:
  Steering() = default;
  ~Steering();
  Steering(const Steering&) = delete;
  Steering& operator=(const Steering&) = delete;

  // Occupies them all, or says which cannot be had; then none is.
  std::optional<Obstacle> Occupy(std::span<const Mapping> mappings,
                                 std::span<const Region> regions);
  // Gives back the n-th, for somebody who takes it at once.
  void Release(size_t mapping);

 private:
  std::vector<Range> occupied_;  // size 0: given back
};

// Of this process, as it is now.
std::vector<ProcessMap> CurrentMaps();

// Whether starting anew may still help.
bool MayStartAnew(int attempt);

// Replaces the process by a new one of the same program, whose addresses are elsewhere: arguments
// are those of this process with `--attempt N` added. Comes back only if that is not possible.
base::Error StartAnew(int attempt, std::vector<std::string> arguments);

}  // namespace rochound::capture::replay
