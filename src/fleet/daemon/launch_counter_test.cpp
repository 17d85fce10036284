// SPDX-License-Identifier: MIT
#include "fleet/daemon/launch_counter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace rochound::fleet {
namespace {

constexpr uint64_t kSecond = 1000000000;

// A record as it stands in a log.
struct Raw {
  alignas(64) char bytes[64] = {};
  template <typename T>
  static Raw Of(T record, uint16_t small, uint32_t wide) {
    Raw raw;
    record.head = trace::HeadOf<T>(small, wide);
    memcpy(raw.bytes, &record, sizeof record);
    return raw;
  }
};

Raw Dispatch(uint64_t number, uint32_t kernel) {
  trace::KernelDispatch record{};
  record.dispatch = number;
  record.submit_tsc = 3 * kSecond;
  record.kernel = kernel;
  record.grid[0] = 64;
  record.grid[1] = record.grid[2] = 1;
  return Raw::Of(record, 0, 1);
}
Raw Time(uint64_t number, uint64_t begin, uint64_t end) {
  trace::KernelTime record{};
  record.dispatch = number;
  record.begin_ticks = begin;
  record.end_ticks = end;
  return Raw::Of(record, 1, 1);
}
Raw HostAnchor(uint64_t seconds) {
  trace::HostAnchor record{};
  record.now_tsc = 3 * kSecond * (seconds + 1);
  record.monotonic_ns = kSecond * (seconds + 1);
  record.realtime_ns = kSecond * (seconds + 1001);
  return Raw::Of(record, 0, 0);
}
Raw GpuAnchor(uint64_t seconds, uint64_t hertz = 100000000) {
  trace::GpuAnchor record{};
  record.gpu_ticks = 5000 + hertz * (seconds + 1);
  record.system_ns = 77 + kSecond * (seconds + 1);
  record.now_tsc = 3 * kSecond * (seconds + 1);
  return Raw::Of(record, 1, 0);
}

void Give(LaunchCounter& counter, const Raw& raw) {
  counter.OnRecord(*reinterpret_cast<const trace::Head*>(raw.bytes), raw.bytes);
}

// All sketches of kernel 1 merged.
LaunchSketch All(LaunchCounter& counter, uint32_t kernel = 1) {
  LaunchSketch all;
  for (const auto& [interval, sketches] : counter.TakeBefore(UINT64_MAX))
    for (const auto& [key, sketch] : sketches)
      if (key.kernel == kernel) all.Merge(sketch);
  return all;
}

// Takes all sketches: launches in them, and how many there are.
std::pair<uint64_t, size_t> CountAll(LaunchCounter& counter) {
  uint64_t launches = 0;
  size_t sketches = 0;
  for (const auto& [interval, some] : counter.TakeBefore(UINT64_MAX))
    for (const auto& [key, sketch] : some) {
      launches += sketch.launches();
      ++sketches;
    }
  return {launches, sketches};
}

TEST(LaunchCounterTest, AnyOrderOfRecordsGivesTheSameSketch) {
  std::mt19937_64 random(3);
  std::vector<Raw> records;
  Histogram want;
  for (uint64_t i = 1; i <= 500; ++i) {
    const uint64_t ticks = 1 + random() % 100000;
    want.Add(ticks * 10);
    records.push_back(Dispatch(i, 1));
    records.push_back(Time(i, 200000000, 200000000 + ticks));
  }
  for (uint64_t seconds = 0; seconds < 3; ++seconds) {
    records.push_back(HostAnchor(seconds));
    records.push_back(GpuAnchor(seconds));
  }
  for (int round = 0; round < 20; ++round) {
    std::shuffle(records.begin(), records.end(), random);
    LaunchCounter counter(kSecond);
    for (size_t i = 0; i < records.size(); ++i) {
      Give(counter, records[i]);
      if (random() % 100 == 0) {
        // Saved and restored in between, as a daemon that was killed is.
        LaunchCounter again(kSecond);
        ASSERT_TRUE(
            again.Restore(nlohmann::json::from_cbor(nlohmann::json::to_cbor(counter.Save()))));
        counter = std::move(again);
      }
    }
    counter.Finish();
    const LaunchSketch all = All(counter);
    EXPECT_EQ(all.nanoseconds, want) << round;
    EXPECT_EQ(all.work_items, 500u * 64);
    EXPECT_EQ(counter.totals().launches, 500u);
    EXPECT_EQ(counter.totals().unfinished, 0u);
  }
}

TEST(LaunchCounterTest, ALostTimeIsALaunchWithoutOne) {
  LaunchCounter counter(kSecond);
  Give(counter, HostAnchor(0));
  Give(counter, Dispatch(1, 1));
  Give(counter, Time(1, 0, 0));
  const LaunchSketch all = All(counter);
  EXPECT_EQ(all.launches(), 1u);
  EXPECT_EQ(all.untimed, 1u);
}

TEST(LaunchCounterTest, IntervalsAreThoseInWhichLaunchesEnded) {
  LaunchCounter counter(kSecond);
  for (uint64_t seconds = 0; seconds < 2; ++seconds) {
    Give(counter, HostAnchor(seconds));
    Give(counter, GpuAnchor(seconds));
  }
  // The counter stands at 5000 + 100 million at 1001 s.
  Give(counter, Dispatch(1, 1));
  Give(counter, Time(1, 5000 + 350000000, 5000 + 350000001));
  Give(counter, Dispatch(2, 1));
  Give(counter, Time(2, 5000 + 450000000, 5000 + 450000001));
  EXPECT_TRUE(counter.TakeBefore(1003).empty());
  const auto first = counter.TakeBefore(1004);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first.begin()->first, 1003u);
  const auto second = counter.TakeBefore(UINT64_MAX);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second.begin()->first, 1004u);
}

TEST(LaunchCounterTest, MemoryIsBoundedAndWhatIsGivenUpIsCounted) {
  LaunchCounter counter(kSecond, {.open = 100, .sketches = 10});
  Give(counter, HostAnchor(0));
  for (uint64_t i = 1; i <= 1000; ++i) Give(counter, Dispatch(i, static_cast<uint32_t>(i % 50)));
  EXPECT_EQ(counter.open().size(), 100u);
  EXPECT_EQ(counter.totals().evicted_launches, 900u);
  for (uint64_t i = 5001; i <= 5500; ++i) Give(counter, Time(i, 1, 2));
  EXPECT_EQ(counter.totals().evicted_times, 400u);
  counter.Finish();
  EXPECT_EQ(counter.totals().unfinished, 100u);
  const auto [launches, sketches] = CountAll(counter);
  EXPECT_EQ(launches, 900u);
  EXPECT_EQ(sketches, 11u);  // ten kernels and the others
}

TEST(LaunchCounterTest, AgentsKernelsAndIntervalsAreBoundedTogether) {
  LaunchCounter counter(kSecond, {.open = 100, .all_sketches = 50, .kernels = 20, .agents = 10});
  Give(counter, HostAnchor(0));
  // Each launch is of another kernel, another GPU without a clock, and in another interval.
  for (uint32_t i = 1; i <= 1000; ++i) {
    Give(counter, Dispatch(i, i));
    trace::KernelTime time{};
    time.dispatch = i;
    time.begin_ticks = uint64_t{i} << 40;
    time.end_ticks = time.begin_ticks + 1;
    Give(counter, Raw::Of(time, static_cast<uint16_t>(i), 0));
  }
  EXPECT_LE(counter.kernels().size(), 21u);
  const auto saved = counter.Save();
  EXPECT_LE(saved.at("clocks").size(), 10u);
  size_t waiting = 0;
  for (const auto& clock : saved.at("clocks")) waiting += clock.at(5).size();
  EXPECT_LE(waiting, 100u);
  counter.Finish();
  const auto [launches, sketches] = CountAll(counter);
  EXPECT_EQ(launches, 1000u);
  EXPECT_LE(sketches, 100u);
}

TEST(GpuRateTest, IsTheNominalOneWhateverAnchorsWereSeen) {
  for (const uint64_t hertz : {100000000u, 25000000u, 19200000u}) {
    for (const double jitter : {-0.0002, 0.0, 0.0002}) {
      EXPECT_EQ(GpuRate::Nominal(static_cast<double>(hertz) * (1 + jitter)), hertz);
    }
  }
  EXPECT_EQ(GpuRate::Nominal(0), 100000000u);
  GpuRate rate;
  trace::GpuAnchor anchor{};
  for (uint64_t i = 0; i < 5 && !rate.known(); ++i) {
    anchor.gpu_ticks = 1000 + i * 1000000;
    anchor.system_ns = 5 + i * 10000000 + (i % 2) * 700;  // a microsecond off
    rate.Add(anchor);
  }
  ASSERT_TRUE(rate.known());
  EXPECT_EQ(rate.hertz(), 100000000u);
  EXPECT_EQ(rate.Nanoseconds(123), 1230u);
}

}  // namespace
}  // namespace rochound::fleet
