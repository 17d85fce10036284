// SPDX-License-Identifier: MIT
#include "trace/clock_line.h"

#include <algorithm>
#include <cmath>

namespace rochound::trace {
namespace {

constexpr double kSteepest = 1 << 20;

}  // namespace

ClockLine::ClockLine(std::vector<Instant> instants, double slope, uint64_t min_span) {
  std::sort(instants.begin(), instants.end(), [](const Instant& a, const Instant& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  for (const Instant& instant : instants) {
    if (!pieces_.empty()) {
      Piece& last = pieces_.back();
      if (instant.from <= last.from || instant.to <= last.to) continue;
      last.length = instant.from - last.from;
      const auto rise = static_cast<unsigned __int128>(instant.to - last.to) << kShift;
      const auto steep = rise / last.length;
      if (steep > static_cast<unsigned __int128>(kSteepest) << kShift) continue;
      last.slope = static_cast<uint64_t>(steep);
    }
    pieces_.push_back({instant.from, 0, instant.to, 0});
  }
  if (!std::isfinite(slope) || slope <= 0 || slope > kSteepest) slope = 1;
  if (pieces_.size() > 1) {
    const auto span = static_cast<double>(pieces_.back().from - pieces_.front().from);
    slope_known_ = span >= static_cast<double>(min_span);
    if (slope_known_) slope = static_cast<double>(pieces_.back().to - pieces_.front().to) / span;
  }
  slope_ = static_cast<uint64_t>(std::ldexp(slope, kShift));
  if (!pieces_.empty()) {
    pieces_.back().length = UINT64_MAX - pieces_.back().from;
    pieces_.back().slope = slope_;
  }
}

double ClockLine::slope() const { return std::ldexp(static_cast<double>(slope_), -kShift); }

uint64_t ClockLine::Search(uint64_t from, size_t* hint) const {
  if (pieces_.empty()) return from;
  const Piece& first = pieces_.front();
  if (from < first.from) {
    const uint64_t before = Scale(first.from - from, slope_);
    return before > first.to ? 0 : first.to - before;
  }
  const auto next = std::upper_bound(pieces_.begin(), pieces_.end(), from,
                                     [](uint64_t value, const Piece& p) { return value < p.from; });
  const auto& piece = *(next - 1);
  *hint = static_cast<size_t>(&piece - pieces_.data());
  return Add(piece.to, Scale(from - piece.from, piece.slope));
}

}  // namespace rochound::trace
