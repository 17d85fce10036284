// SPDX-License-Identifier: MIT
//
// What a launch read and wrote, from the software GPU's access trace (docs/formats/accesses.md),
// and whether another build of the kernel keeps to what the captured one does. Offline, any thread.
// The trace is written by our own software GPU, so a line that cannot be read is an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rochound::optimize {

// Bytes by address: added in any order, then asked. Neighbours become one.
class ByteSet {
 public:
  void Add(uint64_t base, uint64_t size);
  void Add(const ByteSet& other);
  // Whether all of these bytes are in it.
  bool Contains(uint64_t base, uint64_t size) const;
  bool Touches(uint64_t base, uint64_t size) const;
  uint64_t bytes() const;

 private:
  struct Piece {
    uint64_t base, end;
  };
  void Join() const;

  mutable std::vector<Piece> pieces_;  // sorted and disjoint up to joined_
  mutable size_t joined_ = 0;
};

// An access that must not be.
struct Stray {
  std::string what;  // "reads", "writes", "reads LDS"
  std::string instruction;
  uint64_t pc = 0;  // from the kernel's first instruction
  uint64_t group = 0, wave = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;
};

// What a launch may do; nothing is said where a set is missing.
struct AccessRules {
  const ByteSet* readable = nullptr;
  const ByteSet* writable = nullptr;
  // Whether LDS that a wave reads must have been written, by the same workgroup; of LDS that no
  // other wave of it writes, by the same wave and before.
  bool initialised_lds = false;
  // Whether two waves of a workgroup may touch the same LDS, one of them writing, with no barrier
  // between the two.
  bool no_races = false;
  // The same of global memory that is in `writable`; and whether a workgroup may read what another
  // one writes. That is for kernels that do not synchronise workgroups by themselves.
  bool no_global_races = false;
  bool no_group_races = false;
};

// Two accesses whose order nobody knows.
struct Race {
  Stray access;
  uint64_t other_wave = 0;
  std::optional<uint64_t> other_group;  // where the two are of different workgroups
};

struct Accesses {
  bool completed = false;
  ByteSet read, written;  // global memory, and what the scalar unit reads; atomics do both
  std::vector<std::string> untraced;  // instructions whose addresses are not known
  std::optional<Stray> stray_read, stray_write, stray_lds;  // the first of each
  std::optional<Race> race, global_race;
  bool has_global_atomics = false;
};

// Of the only, or last, launch of this kernel in the trace.
base::Result<Accesses> ReadAccesses(const std::filesystem::path& file, const std::string& kernel,
                                    const AccessRules& rules);
// The same from text, for tests.
base::Result<Accesses> ParseAccesses(std::string_view text, const std::string& kernel,
                                     const AccessRules& rules);

}  // namespace rochound::optimize
