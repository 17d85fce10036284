// SPDX-License-Identifier: MIT
//
// Which memory a dispatch touched, in sectors of 32 bytes, so that the distinct lines of 32, 64 and
// 128 bytes can be counted: what a cache without limits would still have to move. Each thread that
// runs waves has one of its own; they are merged when the dispatch ends. Not for LDS.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "softgpu/counters/instruction_class.h"

namespace rochound::softgpu {

inline constexpr std::array<unsigned, 3> kFootprintLineBytes = {32, 64, 128};

struct FootprintLines {
  uint64_t read = 0;     // by loads and atomics
  uint64_t written = 0;  // by stores and atomics
  uint64_t touched = 0;  // by any
};
// By the index of kFootprintLineBytes.
using FootprintCounts = std::array<FootprintLines, kFootprintLineBytes.size()>;
// By MemorySpace (LDS is empty), and of all of them together as the last.
using FootprintSums = std::array<FootprintCounts, kMemorySpaces + 1>;

class Footprint {
 public:
  void Add(const MemoryPart& part, MemoryAction action);
  void Merge(const Footprint& other);
  FootprintSums Count() const;
  void Clear();

 private:
  static constexpr unsigned kSectorBits = 5;
  static constexpr unsigned kPageBits = 12;
  static constexpr unsigned kWords = 2;  // 128 sectors
  struct Touched {
    std::array<uint64_t, kWords> read{};
    std::array<uint64_t, kWords> written{};
  };
  struct Page {
    uint64_t number = 0;
    std::array<Touched, kMemorySpaces> spaces;
  };
  Page& PageAt(uint64_t number);

  std::vector<Page> pages_;
  std::unordered_map<uint64_t, size_t> places_;  // of a page's number in pages_
  size_t last_ = 0;                              // the place that was asked for last
};

}  // namespace rochound::softgpu
