// SPDX-License-Identifier: MIT
#include "fleet/sketch/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace rochound::fleet {
namespace {

// Durations as kernels have them: some around a few places, some anywhere.
std::vector<uint64_t> Durations(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> values;
  const double octaves = std::uniform_real_distribution<>(0.5, 40)(random);
  for (size_t i = 0; i < count; ++i) {
    const double exponent = std::uniform_real_distribution<>(0, octaves)(random);
    values.push_back(random() % 50 == 0 ? 0 : static_cast<uint64_t>(std::exp2(exponent)));
  }
  return values;
}

Histogram Of(const std::vector<uint64_t>& values) {
  Histogram histogram;
  for (const uint64_t value : values) histogram.Add(value);
  return histogram;
}

TEST(HistogramTest, BucketsHaveTheirUpperBound) {
  // 2^0 is the upper bound of bucket -1; the next integer is above it.
  EXPECT_EQ(Histogram::Index(1, 5), -1);
  EXPECT_EQ(Histogram::Index(2, 5), 31);
  EXPECT_EQ(Histogram::Index(3, 5), 32 + 18);  // log2(3) = 1.58496, times 32 is 50.7
  EXPECT_EQ(Histogram::Index(4, 5), 63);
  EXPECT_EQ(Histogram::Index(5, 5), 74);
  EXPECT_EQ(Histogram::Index(4, 0), 1);
  EXPECT_EQ(Histogram::Index(5, 0), 2);
  EXPECT_EQ(Histogram::Index(UINT64_MAX, 5), 64 * 32 - 1);
  EXPECT_EQ(Histogram::Index(UINT64_MAX, -6), 0);
}

TEST(HistogramTest, IndexIsThatOfTheLogarithm) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t value = random() >> (random() % 63) | 1;
    for (const int scale : {5, 3, 0, -2}) {
      const long double at = std::log2(static_cast<long double>(value)) * std::exp2(scale);
      const auto want = static_cast<int32_t>(std::ceil(at)) - 1;
      ASSERT_EQ(Histogram::Index(value, scale), want) << value << " at scale " << scale;
    }
  }
}

TEST(HistogramTest, MergedPiecesAreTheHistogramOfAll) {
  std::mt19937_64 random(2);
  for (uint64_t round = 0; round < 300; ++round) {
    const auto values = Durations(round, 1 + random() % 2000);
    std::vector<Histogram> pieces(1 + random() % 20);
    for (const uint64_t value : values) pieces[random() % pieces.size()].Add(value);
    std::shuffle(pieces.begin(), pieces.end(), random);
    // Pairs first, then pairs of pairs, in any order.
    while (pieces.size() > 1) {
      const size_t from = random() % (pieces.size() - 1) + 1;
      pieces[from - 1].Merge(pieces[from]);
      pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(from));
    }
    ASSERT_EQ(pieces[0], Of(values)) << round;
  }
}

TEST(HistogramTest, QuantilesAreWithinTheStatedError) {
  for (uint64_t round = 0; round < 200; ++round) {
    auto values = Durations(round + 1000, 2000);
    const Histogram histogram = Of(values);
    std::sort(values.begin(), values.end());
    for (const double quantile : {0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0}) {
      const auto rank = std::max<size_t>(
          1, static_cast<size_t>(std::ceil(quantile * static_cast<double>(values.size()))));
      const auto exact = static_cast<double>(values[rank - 1]);
      EXPECT_LE(std::abs(histogram.Quantile(quantile) - exact),
                exact * histogram.RelativeError() * 1.000001)
          << "round " << round << ", quantile " << quantile << ", scale " << histogram.scale();
    }
  }
}

TEST(HistogramTest, KnowsWhatWasAdded) {
  Histogram histogram;
  histogram.Add(500, 3);
  histogram.Add(0, 4);
  histogram.Add(90, 2);
  histogram.Add(7, 0);  // never
  EXPECT_EQ(histogram.count(), 9u);
  EXPECT_EQ(histogram.zeros(), 4u);
  EXPECT_EQ(histogram.sum(), 500u * 3 + 90 * 2);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.max(), 500u);
  Histogram without_zeros;
  without_zeros.Add(500, 3);
  without_zeros.Add(90, 2);
  EXPECT_EQ(without_zeros.min(), 90u);
  uint64_t in_buckets = 0;
  for (const uint64_t bucket : without_zeros.buckets()) in_buckets += bucket;
  EXPECT_EQ(in_buckets, 5u);
  Histogram merged;
  merged.Merge(without_zeros);
  EXPECT_EQ(merged, without_zeros);
}

// A sender may have had wider values before, and none since.
TEST(HistogramTest, AnEmptyOneKeepsItsScaleWhenMerged) {
  Histogram empty, merged;
  empty.Coarsen(2);
  merged.Add(1000);
  merged.Merge(empty);
  EXPECT_EQ(merged.scale(), 2);
  EXPECT_EQ(merged.buckets()[0], 1u);
}

TEST(HistogramTest, QuantilesStayWithinWhatWasAdded) {
  Histogram histogram;
  histogram.Add(1000);
  for (const double quantile : {0.0, 0.5, 1.0}) EXPECT_EQ(histogram.Quantile(quantile), 1000);
}

TEST(HistogramTest, ErrorAtTheFinestScale) {
  Histogram histogram;
  histogram.Add(1000);
  EXPECT_EQ(histogram.scale(), 5);
  EXPECT_LT(histogram.RelativeError(), 0.0109);
  EXPECT_GT(histogram.RelativeError(), 0.0108);
}

TEST(HistogramTest, StaysSmall) {
  Histogram histogram;
  for (int shift = 0; shift < 64; ++shift) histogram.Add(uint64_t{1} << shift);
  EXPECT_LE(histogram.buckets().size(), Histogram::kMostBuckets);
  EXPECT_EQ(histogram.count(), 64u);
}

TEST(HistogramTest, CoarsensWithTheFirstValueThatIsTooFarAway) {
  constexpr uint64_t kFirst = 1 << 20;
  constexpr auto kMost = static_cast<int32_t>(Histogram::kMostBuckets);
  const auto with_value_in_bucket = [&](int32_t nth) {
    uint64_t value = kFirst;
    const int32_t first = Histogram::Index(kFirst, Histogram::kFinestScale);
    while (Histogram::Index(value, Histogram::kFinestScale) < first + nth) value += value / 200;
    Histogram histogram;
    histogram.Add(kFirst);
    histogram.Add(value);
    return histogram;
  };
  EXPECT_EQ(with_value_in_bucket(kMost - 1).scale(), Histogram::kFinestScale);
  EXPECT_EQ(with_value_in_bucket(kMost - 1).buckets().size(), Histogram::kMostBuckets);
  EXPECT_EQ(with_value_in_bucket(kMost).scale(), Histogram::kFinestScale - 1);
}

TEST(HistogramTest, CoarsenedIsTheHistogramAtThatScale) {
  const auto values = Durations(7, 500);
  Histogram coarse = Of(values);
  coarse.Coarsen(0);
  for (size_t i = 0; i < coarse.buckets().size(); ++i) {
    const auto index = coarse.offset() + static_cast<int32_t>(i);
    EXPECT_EQ(coarse.buckets()[i],
              static_cast<uint64_t>(std::count_if(values.begin(), values.end(), [&](uint64_t v) {
                return v != 0 && Histogram::Index(v, 0) == index;
              })));
  }
}

TEST(HistogramTest, RestoresWhatItWas) {
  const Histogram one = Of(Durations(9, 100));
  Histogram again;
  ASSERT_TRUE(again.Restore(one.scale(), one.zeros(), one.sum(), one.min(), one.max(), one.offset(),
                            one.buckets()));
  EXPECT_EQ(again, one);
  EXPECT_FALSE(again.Restore(6, 0, 0, 0, 0, 0, {}));
  EXPECT_FALSE(again.Restore(5, 0, 0, 0, 0, 0, {0, 1}));
  EXPECT_FALSE(again.Restore(5, 0, 0, 0, 0, 0, {1, 0}));
  ASSERT_TRUE(again.Restore(5, 4, 0, 0, 0, 0, {1, 2}));
  EXPECT_EQ(again.count(), 7u);
  EXPECT_FALSE(again.Restore(5, 0, 0, 0, 0, 0, std::vector<uint64_t>(1000, 1)));
  EXPECT_FALSE(again.Restore(5, 0, 9, 9, 1, 0, {1})) << "the least is not above the most";
}

// Somebody else's histogram has buckets where a value can be, or is none: Merge relies on it.
TEST(HistogramTest, RestoresNoBucketThatNoValueIsIn) {
  for (int scale = Histogram::kCoarsestScale; scale <= Histogram::kFinestScale; ++scale) {
    const int32_t last = Histogram::Index(UINT64_MAX, scale);
    Histogram first_bucket, last_bucket, beyond;
    ASSERT_TRUE(first_bucket.Restore(scale, 0, 1, 1, 1, -1, {1}));
    ASSERT_TRUE(last_bucket.Restore(scale, 0, 1, 1, UINT64_MAX, last, {1}));
    EXPECT_FALSE(beyond.Restore(scale, 0, 1, 1, 1, last + 1, {1}));
    EXPECT_FALSE(beyond.Restore(scale, 0, 1, 1, 1, last, {1, 1}));
    EXPECT_FALSE(beyond.Restore(scale, 0, 1, 1, 1, -2, {1}));
    first_bucket.Merge(last_bucket);
    EXPECT_EQ(first_bucket.count(), 2u);
    EXPECT_LE(first_bucket.buckets().size(), Histogram::kMostBuckets);
    EXPECT_GT(first_bucket.Quantile(1), 1e9);
  }
}

// Such a histogram, merged with another, wrote past the end of its buckets.
TEST(HistogramTest, RestoresNoBucketsThatNoNumberIsIn) {
  Histogram restored;
  EXPECT_FALSE(restored.Restore(-6, 0, 1, 1, 1, 64 * 32, {1}));
  EXPECT_FALSE(restored.Restore(5, 0, 1, 1, 1, 64 * 32, {1}));
  EXPECT_FALSE(restored.Restore(5, 0, 1, 1, 1, 64 * 32 - 2, {1, 1, 1}));
  EXPECT_FALSE(restored.Restore(5, 0, 1, 1, 1, -2, {1}));
  EXPECT_FALSE(restored.Restore(0, 0, 1, 1, 1, INT32_MAX, {1}));
  // The first and the last that there are, at the finest and at the coarsest scale.
  for (const int scale : {5, 0, -6}) {
    for (const uint64_t value : {uint64_t{1}, UINT64_MAX}) {
      ASSERT_TRUE(
          restored.Restore(scale, 0, value, value, value, Histogram::Index(value, scale), {1}));
      Histogram all = Of(Durations(11, 100));
      all.Merge(restored);
      EXPECT_EQ(all.count(), 101u);
      EXPECT_LE(all.buckets().size(), Histogram::kMostBuckets);
    }
  }
}

TEST(HistogramTest, UsualMeanLeavesOutWhatTookMuchLonger) {
  Histogram histogram;
  EXPECT_EQ(histogram.UsualMean(), 0);
  for (uint64_t value = 95000; value <= 105000; value += 100) histogram.Add(value);
  EXPECT_NEAR(histogram.UsualMean(), 100000, 1);
  histogram.Add(1000000, 5);
  EXPECT_NEAR(histogram.UsualMean(), 100000, 1000);
}

TEST(HistogramTest, UsualMeanGoesUpToTwiceTheMedian) {
  Histogram histogram;
  histogram.Add(100000, 100);
  histogram.Add(150000, 50);
  const double mean = (100000 * 100 + 150000 * 50) / 150.0;
  EXPECT_NEAR(histogram.UsualMean(), mean, 1);
  histogram.Add(250000, 20);
  EXPECT_NEAR(histogram.UsualMean(), mean, mean / 100);
}

}  // namespace
}  // namespace rochound::fleet
