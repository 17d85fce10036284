// SPDX-License-Identifier: MIT
#include "fleet/daemon/gpu_rate.h"

#include <algorithm>
#include <cmath>

namespace rochound::fleet {
namespace {

// Anchors are off by a microsecond or so: over this time, less than a digit of the nominal rate.
constexpr uint64_t kEnoughNs = 20000000;
constexpr uint64_t kUsualHertz = 100000000;

}  // namespace

void GpuRate::Add(const trace::GpuAnchor& anchor) {
  if (known()) return;
  if (!has_first_) {
    has_first_ = true;
    first_ticks_ = last_ticks_ = anchor.gpu_ticks;
    first_ns_ = last_ns_ = anchor.system_ns;
    return;
  }
  // Anchors may be said again, out of order.
  if (anchor.gpu_ticks < first_ticks_) {
    first_ticks_ = anchor.gpu_ticks;
    first_ns_ = anchor.system_ns;
  }
  if (anchor.gpu_ticks > last_ticks_) {
    last_ticks_ = anchor.gpu_ticks;
    last_ns_ = anchor.system_ns;
  }
  if (last_ns_ - first_ns_ >= kEnoughNs && last_ns_ > first_ns_) Decide();
}

void GpuRate::Decide() {
  if (known()) return;
  hertz_ = kUsualHertz;
  if (last_ticks_ > first_ticks_ && last_ns_ > first_ns_ && last_ns_ - first_ns_ >= kEnoughNs / 20)
    hertz_ = Nominal(static_cast<double>(last_ticks_ - first_ticks_) * 1e9 /
                     static_cast<double>(last_ns_ - first_ns_));
}

uint64_t GpuRate::Nominal(double hertz) {
  if (!(hertz >= 1000) || hertz > 1e12) return kUsualHertz;
  const double unit = std::pow(10.0, std::floor(std::log10(hertz)) - 2);
  return static_cast<uint64_t>(std::llround(hertz / unit)) *
         static_cast<uint64_t>(std::llround(unit));
}

}  // namespace rochound::fleet
