// SPDX-License-Identifier: MIT
//
// A model of caches, off unless ROCHOUND_SOFTGPU_CACHES says their shape: what would be found in
// L1, L2 and the memory's own cache (MALL) if workgroups ran one after the other, each on the
// compute unit that is its turn. It is no measurement; docs/softgpu-counters.md says what it
// assumes and leaves out. One dispatch has one, used by the one thread that runs its waves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "softgpu/counters/instruction_class.h"
#include "softgpu/isa/semantics/memory_trace.h"

namespace rochound::softgpu {

struct CacheShape {
  uint64_t bytes = 0;  // 0: there is none
  uint64_t line_bytes = 0;
  uint64_t ways = 0;
};

struct CacheShapes {
  uint64_t units = 1;  // compute units; each has an L1 and a scalar cache
  uint64_t dies = 1;   // each has an L2
  CacheShape l1, scalar, l2, mall;
};

// "units=304 dies=8 l1=32768/128/16 scalar=16384/64/16 l2=4194304/128/16 mall=268435456/64/16":
// bytes, bytes of a line, ways. Nothing if it is no such text, or a shape that no cache can have.
std::optional<CacheShapes> ParseCacheShapes(std::string_view text);

struct CacheSums {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t read_bytes = 0;     // from the next level
  uint64_t written_bytes = 0;  // to the next level
};

// Lines that were used last stay. Sets come to be when they are first touched.
class SetAssociativeCache {
 public:
  explicit SetAssociativeCache(const CacheShape& shape);

  struct Line {
    uint64_t number = 0;
    uint64_t dirty = 0;  // a bit for each 32 bytes
  };
  // Finds the line or puts it there; `dirty` is added to it. The line that had to go, if it was
  // dirty, goes to *evicted. Returns whether it was there.
  bool Use(uint64_t number, uint64_t dirty, std::optional<Line>* evicted);
  // Gives all dirty lines, which are clean then.
  std::vector<Line> TakeDirty();

  uint64_t line_bytes() const { return shape_.line_bytes; }

 private:
  CacheShape shape_;
  uint64_t sets_;
  std::unordered_map<uint64_t, std::vector<Line>> lines_;  // by set; the last used comes first
};

class CacheModel {
 public:
  explicit CacheModel(const CacheShapes& shapes) : shapes_(shapes) {}

  // What one instruction of this workgroup asks for; LDS is none of it.
  void Access(uint64_t group, std::span<const MemoryPart> parts, MemoryAction action);
  // The kernel's end: what L2 holds for memory goes there.
  void Finish();

  const CacheSums& l1() const { return l1_sums_; }
  const CacheSums& scalar() const { return scalar_sums_; }
  const CacheSums& l2() const { return l2_sums_; }
  const CacheSums& mall() const { return mall_sums_; }
  uint64_t memory_read_bytes() const { return memory_read_; }
  uint64_t memory_written_bytes() const { return memory_written_; }
  // Written, and still in the MALL when the kernel ended.
  uint64_t left_in_mall_bytes() const { return left_in_mall_; }
  bool has_mall() const { return shapes_.mall.bytes != 0; }

 private:
  using Caches = std::vector<std::unique_ptr<SetAssociativeCache>>;
  static SetAssociativeCache& At(Caches* caches, uint64_t place, const CacheShape& shape);
  void Read(uint64_t group, uint64_t address, uint64_t bytes, bool is_scalar);
  // L2 and what comes after it, for bytes within one line of L2; dirty: a bit for each 32 of them.
  void UseL2(uint64_t die, uint64_t line, uint64_t dirty, bool reads);
  void ReadBehindL2(uint64_t address, uint64_t bytes);
  void WriteBehindL2(const SetAssociativeCache::Line& line);

  CacheShapes shapes_;
  Caches l1_, scalar_, l2_, mall_;
  CacheSums l1_sums_, scalar_sums_, l2_sums_, mall_sums_;
  uint64_t memory_read_ = 0;
  uint64_t memory_written_ = 0;
  uint64_t left_in_mall_ = 0;
};

}  // namespace rochound::softgpu
