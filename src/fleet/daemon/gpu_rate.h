// SPDX-License-Identifier: MIT
//
// How fast a GPU's counter runs, from the anchors of the log. The rate is the crystal's nominal
// one: what was measured, rounded to three digits, so that whoever looks at whichever part of a log
// turns the same ticks into the same nanoseconds, and sketches can be compared exactly. One thread;
// no failure: without enough anchors a guess is made.
#pragma once

#include <cstdint>

#include "trace/records.h"

namespace rochound::fleet {

class GpuRate {
 public:
  void Add(const trace::GpuAnchor& anchor);

  bool known() const { return hertz_ != 0; }
  // Takes what there is; the usual rate if there is nothing.
  void Decide();
  uint64_t hertz() const { return hertz_; }
  void set_hertz(uint64_t hertz) { hertz_ = hertz; }

  // Of a known rate.
  uint64_t Nanoseconds(uint64_t ticks) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(ticks) * 1000000000u / hertz_);
  }

  // Rounded to three digits.
  static uint64_t Nominal(double hertz);

 private:
  bool has_first_ = false;
  uint64_t first_ticks_ = 0, first_ns_ = 0;
  uint64_t last_ticks_ = 0, last_ns_ = 0;
  uint64_t hertz_ = 0;
};

}  // namespace rochound::fleet
