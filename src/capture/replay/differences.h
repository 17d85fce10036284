// SPDX-License-Identifier: MIT
//
// Compares memory with what it should be and keeps what differs: the first few differences as a
// person wants to see them, counts, and which pages. Fed piece by piece by replay, in any order,
// from one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "capture/manifest.h"
#include "capture/replay/elements.h"
#include "capture/replay/image.h"
#include "capture/replay/kernarg.h"
#include "capture/replay/poison.h"

namespace rochound::capture::replay {

struct Difference {
  uint64_t address = 0;
  uint32_t region = 0;
  std::string argument;  // empty: no argument points here
  uint64_t index = 0;    // of the element from the argument's pointer on, or offset in the region
  Element type = Element::kUnknown;
  std::string expected, got;
};

// Sorted, disjoint pieces of memory, by address.
class PageRuns {
 public:
  // Pages that are this close become one run.
  static constexpr uint64_t kGap = 16 << 10;

  void Add(uint64_t address, uint64_t size) { runs_.push_back({address, size}); }
  void Add(const PageRuns& other);
  // Sorts and joins what overlaps, touches or is close, but never across the end of a region.
  void Join(std::span<const Region> regions);
  const std::vector<Range>& runs() const { return runs_; }
  uint64_t bytes() const;

 private:
  std::vector<Range> runs_;
};

// The element that is farthest off.
struct Worst {
  Difference place;
  double error = 0;  // 0: there is none
};

class Spread;

class Differences {
 public:
  struct Rules {
    std::vector<TypedSpan> spans;
    Element untyped = Element::kUnknown;  // what memory holds that no typed argument points to
    Tolerance tolerance;
    size_t show = 10;
  };

  explicit Differences(const Rules& rules) : rules_(rules) {}

  // Both of the same size; they were, and are, at this address of the region. image: words that
  // hold the image's address here count as those of the captured one.
  void Compare(uint32_t region, uint64_t region_base, uint64_t address,
               std::span<const std::byte> expected, std::span<const std::byte> got,
               const ImageMap* image);
  // Also collects each run's values there.
  void set_spread(Spread* spread) { spread_ = spread; }
  // Memory was poisoned: what kept its pattern is called "not written".
  void set_poison(const Poison* poison) { poison_ = poison; }
  // A difference that was found elsewhere.
  void Add(Difference difference);

  const Rules& rules() const { return rules_; }
  bool equal() const { return elements_ == 0; }
  uint64_t elements() const { return elements_; }
  const std::vector<Difference>& first() const { return first_; }
  // The largest relative error of a floating element, also within the tolerance.
  double worst_relative() const { return worst_relative_.error; }
  // The same with its place, and by the error's size.
  const Worst& worst() const { return worst_relative_; }
  const Worst& worst_absolute() const { return worst_absolute_; }
  // Pages with bytes that are not those expected, whatever the tolerance says, and how many bytes
  // that are.
  const PageRuns& pages() const { return pages_; }
  uint64_t bytes() const { return bytes_; }
  // For finding out whether two runs gave the same: changes with every byte that differs.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  void CompareElements(uint32_t region, uint64_t region_base, uint64_t address,
                       std::span<const std::byte> expected, std::span<const std::byte> got);

  const Rules& rules_;
  Spread* spread_ = nullptr;
  const Poison* poison_ = nullptr;
  uint64_t elements_ = 0;
  uint64_t bytes_ = 0;
  uint64_t fingerprint_ = 0;
  Worst worst_relative_, worst_absolute_;
  std::vector<Difference> first_;
  PageRuns pages_;
};

// What comparisons let pass although bytes differ.
struct Tolerated {
  uint64_t bytes = 0;  // in the comparison where most differ
  Worst relative, absolute;

  void Add(const Differences& differences);
};

// The results of several runs of a build that is not deterministic: of each element, the lowest and
// the highest value. Kept for pages that were not what the captured launch left in some run.
class Spread {
 public:
  // captured: the captured launch was a run of this build, too.
  Spread(const Differences::Rules& rules, bool captured) : rules_(rules), runs_(captured ? 1 : 0) {}

  // For each page of memory, in each run; expected: what the captured launch left.
  void Add(uint32_t region, uint64_t region_base, uint64_t address,
           std::span<const std::byte> expected, std::span<const std::byte> got);
  void EndRun() { ++runs_; }
  size_t runs() const { return runs_; }

  // Elements whose values in these runs and in the original's do not meet. A floating one may miss
  // the original's values by as much as the widest range of an element of the same argument there.
  Differences Outside(const Spread& original) const;

 private:
  struct Page {
    uint32_t region = 0;
    uint64_t region_base = 0;
    std::vector<std::byte> expected, low, high;
  };
  void Merge(Page* page, uint64_t address, std::span<const std::byte> got) const;
  // By argument (or region, where none points to), of floating elements.
  std::map<uint64_t, double> WidestRanges() const;

  const Differences::Rules& rules_;
  size_t runs_;
  std::map<uint64_t, Page> pages_;  // by address
};

}  // namespace rochound::capture::replay
