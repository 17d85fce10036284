// SPDX-License-Identifier: MIT
#include "store/rpd/gpu_usage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace rochound::store {

void CoveredTime::Add(int64_t begin, int64_t end) {
  if (end <= begin) return;
  spans_.emplace_back(begin, end);
  if (spans_.size() < merge_at_) return;
  Merge();
  merge_at_ = std::max(merge_at_, spans_.size() * 2);
}

void CoveredTime::Merge() {
  std::sort(spans_.begin(), spans_.end());
  size_t kept = 0;
  for (const auto& span : spans_) {
    if (kept > 0 && span.first <= spans_[kept - 1].second) {
      spans_[kept - 1].second = std::max(spans_[kept - 1].second, span.second);
    } else {
      spans_[kept++] = span;
    }
  }
  spans_.resize(kept);
}

int64_t CoveredTime::ns() {
  Merge();
  int64_t sum = 0;
  for (const auto& [begin, end] : spans_) sum += end - begin;
  return sum;
}

std::string UsageSentence(int64_t gpu, int64_t gpus, int64_t busy_ns, int64_t wall_ns) {
  if (gpu < 0 || wall_ns <= 0) return {};
  return fmt::format("GPU {}{} was busy {:.1f}% of {}", gpu,
                     gpus > 1 ? fmt::format(", the busiest of {},", gpus) : "",
                     100.0 * static_cast<double>(busy_ns) / static_cast<double>(wall_ns),
                     base::TimeText(wall_ns));
}

std::string UsageSentence(GpusBusy& gpus, int64_t wall_ns) {
  int64_t busiest = -1, most = 0;
  for (auto& [gpu, busy] : gpus) {
    const int64_t ns = busy.ns();
    if (ns <= most) continue;
    busiest = gpu;
    most = ns;
  }
  return UsageSentence(busiest, static_cast<int64_t>(gpus.size()), most, wall_ns);
}

}  // namespace rochound::store
