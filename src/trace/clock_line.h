// SPDX-License-Identifier: MIT
//
// Converts one clock to another through instants known in both: straight lines between them, and
// the overall slope before the first and after the last. Never goes backwards. Built once by the
// reader, constant afterwards, any thread; no failure: without an instant it gives what it was
// given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rochound::trace {

class ClockLine {
 public:
  struct Instant {
    uint64_t from;
    uint64_t to;
  };

  ClockLine() = default;

  // `slope` (to per from) is used where the instants tell none: fewer than two, or all of them
  // within `min_span`. Instants that would let time go backwards are left out.
  ClockLine(std::vector<Instant> instants, double slope, uint64_t min_span = 0);

  // `hint` remembers where the last conversion was; conversions come mostly in order.
  uint64_t At(uint64_t from, size_t* hint) const {
    const size_t i = *hint;
    if (i < pieces_.size() && from - pieces_[i].from < pieces_[i].length) {
      return Add(pieces_[i].to, Scale(from - pieces_[i].from, pieces_[i].slope));
    }
    return Search(from, hint);
  }
  uint64_t At(uint64_t from) const {
    size_t hint = pieces_.size();
    return Search(from, &hint);
  }

  size_t instants() const { return pieces_.size(); }
  double slope() const;  // overall
  bool slope_known() const { return slope_known_; }

 private:
  // From an instant to the next one. Slopes are fixed-point numbers with kShift binary places.
  struct Piece {
    uint64_t from;
    uint64_t length;
    uint64_t to;
    uint64_t slope;
  };
  static constexpr int kShift = 40;

  static uint64_t Scale(uint64_t distance, uint64_t slope) {
    const auto product = static_cast<unsigned __int128>(distance) * slope >> kShift;
    return product > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(product);
  }
  static uint64_t Add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }
  uint64_t Search(uint64_t from, size_t* hint) const;

  std::vector<Piece> pieces_;  // the last one has no end
  uint64_t slope_ = uint64_t{1} << kShift;
  bool slope_known_ = false;
};

}  // namespace rochound::trace
