// SPDX-License-Identifier: MIT
#include "fleet/sketch/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace rochound::fleet {
namespace {

constexpr int kSubBuckets = 1 << Histogram::kFinestScale;

// Where the buckets between two powers of two begin: 2^(63 + i / 32), rounded down. An integer is
// never equal to such a number, except for i = 0.
const std::array<uint64_t, kSubBuckets>& Bounds() {
  static const auto bounds = [] {
    std::array<uint64_t, kSubBuckets> made{};
    for (int i = 0; i < kSubBuckets; ++i)
      made[static_cast<size_t>(i)] = static_cast<uint64_t>(
          std::ldexp(std::exp2(static_cast<long double>(i) / kSubBuckets), 63));
    return made;
  }();
  return bounds;
}

// Bucket indices of a scale in one that is coarser by `steps`.
int32_t Shift(int32_t index, int steps) { return index >> steps; }

}  // namespace

int32_t Histogram::Index(uint64_t value, int scale) {
  ROCHOUND_DCHECK(value != 0 && scale <= kFinestScale && scale >= kCoarsestScale);
  const int exponent = 63 - std::countl_zero(value);
  const uint64_t mantissa = value << (63 - exponent);
  const auto& bounds = Bounds();
  // A bucket has its upper bound, not its lower one.
  const auto next = std::lower_bound(bounds.begin(), bounds.end(), mantissa);
  const auto within = static_cast<int32_t>(next - bounds.begin()) - 1;
  return Shift(exponent * kSubBuckets + within, kFinestScale - scale);
}

void Histogram::Reach(int32_t first, int32_t last) {
  if (!buckets_.empty()) {
    first = std::min(first, offset_);
    last = std::max(last, offset_ + static_cast<int32_t>(buckets_.size()) - 1);
  }
  int steps = 0;
  while (static_cast<size_t>(Shift(last, steps) - Shift(first, steps)) >= kMostBuckets) ++steps;
  ROCHOUND_DCHECK(scale_ - steps >= kCoarsestScale);
  if (steps != 0) Coarsen(scale_ - steps);
  first = Shift(first, steps);
  last = Shift(last, steps);
  if (buckets_.empty()) {
    offset_ = first;
  } else if (first < offset_) {
    buckets_.insert(buckets_.begin(), static_cast<size_t>(offset_ - first), 0);
    offset_ = first;
  }
  const auto wanted = static_cast<size_t>(last - offset_) + 1;
  if (buckets_.size() < wanted) buckets_.resize(wanted);
  ROCHOUND_DCHECK(buckets_.size() <= kMostBuckets);
}

void Histogram::Add(uint64_t value, uint64_t times) {
  if (times == 0) return;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += times;
  sum_ += value * times;
  if (value == 0) {
    zeros_ += times;
    return;
  }
  int32_t index = Index(value, scale_);
  if (index < offset_ || index >= offset_ + static_cast<int32_t>(buckets_.size())) {
    Reach(index, index);
    index = Index(value, scale_);
  }
  ROCHOUND_DCHECK(index >= offset_ && static_cast<size_t>(index - offset_) < buckets_.size());
  buckets_[static_cast<size_t>(index - offset_)] += times;
}

void Histogram::Coarsen(int scale) {
  const int steps = scale_ - std::max(scale, kCoarsestScale);
  if (steps <= 0) return;
  scale_ -= steps;
  if (buckets_.empty()) return;
  const int32_t first = Shift(offset_, steps);
  const int32_t last = Shift(offset_ + static_cast<int32_t>(buckets_.size()) - 1, steps);
  std::vector<uint64_t> coarse(static_cast<size_t>(last - first) + 1);
  for (size_t i = 0; i < buckets_.size(); ++i)
    coarse[static_cast<size_t>(Shift(offset_ + static_cast<int32_t>(i), steps) - first)] +=
        buckets_[i];
  offset_ = first;
  buckets_ = std::move(coarse);
}

void Histogram::Merge(const Histogram& other) {
  if (other.count_ == 0) {
    Coarsen(other.scale_);
    return;
  }
  Histogram theirs = other;
  theirs.Coarsen(scale_);
  Coarsen(theirs.scale_);
  if (!theirs.buckets_.empty()) {
    Reach(theirs.offset_, theirs.offset_ + static_cast<int32_t>(theirs.buckets_.size()) - 1);
    theirs.Coarsen(scale_);
    ROCHOUND_DCHECK(theirs.scale_ == scale_ && theirs.offset_ >= offset_);
    ROCHOUND_DCHECK(static_cast<size_t>(theirs.offset_ - offset_) + theirs.buckets_.size() <=
                    buckets_.size());
    for (size_t i = 0; i < theirs.buckets_.size(); ++i)
      buckets_[static_cast<size_t>(theirs.offset_ - offset_) + i] += theirs.buckets_[i];
  }
  min_ = count_ == 0 ? theirs.min_ : std::min(min_, theirs.min_);
  max_ = std::max(max_, theirs.max_);
  count_ += theirs.count_;
  sum_ += theirs.sum_;
  zeros_ += theirs.zeros_;
}

double Histogram::Quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count_));
  // As a double, a large count may be more than an integer holds.
  uint64_t rank = count_;
  if (wanted < static_cast<double>(count_)) rank = static_cast<uint64_t>(wanted);
  rank = std::max<uint64_t>(rank, 1);
  ROCHOUND_DCHECK(zeros_ <= count_);
  if (rank <= zeros_) return 0;
  uint64_t below = zeros_;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    below += buckets_[i];
    if (below < rank) continue;
    // Between the bounds, as far from one as from the other in proportion.
    const double middle = std::exp2((static_cast<double>(offset_) + static_cast<double>(i) + 0.5) *
                                    std::exp2(-scale_));
    return std::clamp(middle, static_cast<double>(min_), static_cast<double>(max_));
  }
  return static_cast<double>(max_);
}

double Histogram::UsualMean() const {
  const double limit = 2 * Quantile(0.5);
  double sum = static_cast<double>(sum_);
  uint64_t count = count_;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const double middle = std::exp2((static_cast<double>(offset_) + static_cast<double>(i) + 0.5) *
                                    std::exp2(-scale_));
    if (middle < limit) continue;
    sum -= middle * static_cast<double>(buckets_[i]);
    count -= buckets_[i];
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double Histogram::RelativeError() const { return std::exp2(0.5 * std::exp2(-scale_)) - 1; }

bool Histogram::Restore(int scale, uint64_t zeros, uint64_t sum, uint64_t min, uint64_t max,
                        int32_t offset, std::vector<uint64_t> buckets) {
  if (scale > kFinestScale || scale < kCoarsestScale || buckets.size() > kMostBuckets) return false;
  if (min > max) return false;
  // No value is beyond these buckets. Merge counts on it: one bucket is enough at kCoarsestScale.
  const int32_t last = Index(UINT64_MAX, scale);
  if (offset < -1 || offset > last + 1 - static_cast<int32_t>(buckets.size())) return false;
  if (!buckets.empty() && (buckets.front() == 0 || buckets.back() == 0)) return false;
  scale_ = scale;
  zeros_ = zeros;
  sum_ = sum;
  min_ = min;
  max_ = max;
  offset_ = offset;
  buckets_ = std::move(buckets);
  count_ = zeros;
  for (const uint64_t count : buckets_) count_ += count;
  return true;
}

}  // namespace rochound::fleet
