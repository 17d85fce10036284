// SPDX-License-Identifier: MIT
//
// The analyzer `memory`: how well the lanes of a wave share cache lines, for each place in the
// source that accesses global memory. A line counts once per access of a wave, as if nothing were
// cached between two of them. Offline, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "probe/stream.h"

namespace rochound::probe {

struct MemoryUse {
  std::string kernel;  // symbol
  Location at;         // no file: not known
  std::string action;  // load, store, atomic
  uint64_t bytes = 0;  // of each lane
  uint64_t accesses = 0;
  uint64_t lanes = 0;
  uint64_t lines = 0;         // that the accesses touched
  uint64_t needed_lines = 0;  // that would have held the same bytes, side by side
  uint64_t used_bytes = 0;    // distinct bytes of each access
  uint64_t misaligned = 0;    // lanes whose address is no multiple of their bytes
  // "same address", "side by side", "side by side, backwards", "stride 256" (bytes), "irregular";
  // "one lane" where there never were two.
  std::string pattern;
};

class MemoryAnalyzer {
 public:
  static constexpr uint64_t kLineBytes = 128;

  void Add(const AccessMessage& message);
  // What wastes most lines first.
  std::vector<MemoryUse> Uses() const;

 private:
  struct Site {
    MemoryUse use;
    bool has_stride = false;
    bool irregular = false;
    int64_t stride = 0;
  };
  using Key = std::tuple<std::string, std::string, uint64_t, uint64_t, std::string, uint64_t>;
  std::map<Key, Site> sites_;
  // The last one, since the accesses of a loop follow each other.
  const probe::Site* last_site_ = nullptr;
  const Dispatch* last_dispatch_ = nullptr;
  uint64_t last_process_ = 0;
  Site* last_ = nullptr;
  std::vector<uint64_t> sorted_;
};

std::string MemoryText(const std::vector<MemoryUse>& uses);
std::string MemoryJsonLines(const std::vector<MemoryUse>& uses);

}  // namespace rochound::probe
