// SPDX-License-Identifier: MIT
//
// Proof that a kernel writes what it should. Memory after a launch may equal the captured one
// although the kernel wrote nothing, where the captured launch wrote what was there already. So
// memory that the captured code does not read is filled with a pattern that is nowhere what the
// captured launch left ("poisoned"), and the launch is run from there: what the captured code
// writes comes out as captured, what it does not write keeps the pattern, and every other build has
// to do the same.
//
//   PlanPoison   pieces of memory that may be poisoned, each to be tried on its own
//   Poison       the pattern, and what the captured code left of it
//
// Whether a piece is read by the captured code is found out by poisoning it: if anything but the
// piece itself comes out differently, it is an input and stays as it is. A piece that it does not
// touch at all stays as it is, too: another build may read it. Of a piece that is read, what is
// written may still be something else than what is read: that is tried next. Plain values, one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "capture/bundle.h"
#include "capture/manifest.h"
#include "capture/replay/kernarg.h"

namespace rochound::capture::replay {

// Memory is cut where pointers among the arguments (kernarg: their bytes) point to, and around what
// the captured launch changed. Pieces that only arguments of type `T const*` point to are left out,
// and so are read-only memory, arguments and the code object's image. Starts and sizes are
// multiples of 8. What is too much to be tried piece by piece is one last piece of many ranges.
struct PoisonPiece {
  std::vector<Range> ranges;
  bool output = false;  // in memory of one pointer, in which the captured launch changed something
};
base::Result<std::vector<PoisonPiece>> PlanPoison(const Bundle& bundle,
                                                  std::span<const TypedSpan> spans);

// "0x7f0000000000+4096,0x7f0000200000+64" and back; what cannot be read is left out.
std::string RangesText(std::span<const Range> ranges);
std::vector<Range> ParseRanges(std::string_view text);

class Poison {
 public:
  // regions: of the bundle; words that point into them are never poisoned, since the kernel may
  // follow them.
  Poison(std::vector<Range> ranges, std::span<const Region> regions);

  const std::vector<Range>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }

  // bytes: memory before a launch at this address (a multiple of 8); after: what the captured
  // launch left there. Puts the pattern in.
  void Apply(uint64_t address, std::span<const std::byte> after, std::span<std::byte> bytes) const;

  // After a launch of the captured code from poisoned memory: remembers what kept the pattern.
  void Learn(uint64_t address, std::span<const std::byte> after, std::span<const std::byte> got);
  // Proven to be written by the captured code, of one of ranges() and of all.
  uint64_t written_bytes(size_t range) const { return written_[range]; }
  uint64_t written_bytes() const;
  // What did not keep the pattern, in words: where the captured code writes, also if it computes
  // something else there because it read the pattern.
  std::vector<Range> Touched() const;

  // Turns what the captured launch left into what it leaves of poisoned memory.
  void Expect(uint64_t address, std::span<std::byte> after) const;
  // Whether the captured code did not write these few bytes, which are poisoned.
  bool CapturedKept(uint64_t address, size_t size) const;
  // Whether these few bytes are the pattern, where the captured launch left `after`.
  bool IsPattern(uint64_t address, std::span<const std::byte> after,
                 std::span<const std::byte> got) const;

 private:
  using Bits = std::vector<bool>;

  bool Covers(uint64_t address) const;
  // Calls use(range, from, to) for each poisoned part, with offsets into the bytes at address.
  template <typename Use>
  void ForEachPart(uint64_t address, size_t size, Use use) const;
  uint64_t PatternFor(uint64_t address, uint64_t after) const;

  std::vector<Range> ranges_;  // sorted, disjoint
  std::span<const Region> regions_;
  uint64_t lowest_ = UINT64_MAX, highest_ = 0;  // addresses of regions
  std::vector<uint64_t> written_;               // of each range
  // By page number: which bytes kept the pattern; none: all that are poisoned.
  std::unordered_map<uint64_t, std::unique_ptr<Bits>> kept_;
};

}  // namespace rochound::capture::replay
