// SPDX-License-Identifier: MIT
#include "fleet/metrics/rank_metrics.h"

#include <gtest/gtest.h>

#include <string>

namespace rochound::fleet {
namespace {

using nlohmann::json;

json Row(const std::string& kernel, uint64_t from, const std::vector<uint64_t>& times) {
  Histogram ns;
  for (const uint64_t one : times) ns.Add(one);
  return {{"job", "j"},          {"host", "h"},          {"rank", 3},
          {"kernel", kernel},    {"from_ns", from},      {"launches", ns.count() + 1},
          {"untimed", 1},        {"work_items", 64},     {"scale", ns.scale()},
          {"zeros", ns.zeros()}, {"sum", ns.sum()},      {"min", ns.min()},
          {"max", ns.max()},     {"first", ns.offset()}, {"buckets", ns.buckets()}};
}

double Value(const RankSeries& series, const std::string& name, const std::string& quantile = "") {
  for (const MetricPoint& point : series.points)
    if (point.name == name && point.quantile == quantile) return point.value;
  ADD_FAILURE() << name;
  return -1;
}

TEST(RankMetricsTest, CountersAreWhatTheLakeHas) {
  RankTotals in_lake;
  int loads = 0;
  RankMetrics metrics([&](const std::set<RankKey>& keys) {
    ++loads;
    std::map<RankKey, RankTotals> answer;
    for (const RankKey& key : keys) answer[key] = in_lake;
    return base::Result<std::map<RankKey, RankTotals>>(answer);
  });
  // Rows of a rank that is new here: they are in the lake with all before them.
  in_lake.launches = 103;
  in_lake.ns.Add(1000, 103);
  metrics.AddRows({Row("a", 60, {1000, 2000})});
  auto series = metrics.Collect();
  ASSERT_TRUE(series.ok());
  ASSERT_EQ(series.value().size(), 1u);
  EXPECT_EQ(Value(series.value()[0], "rochound_launches_total"), 103);
  // From then on they are added up.
  metrics.AddRows({Row("a", 120, {1000, 1000, 4000}), Row("b", 120, {8000})});
  metrics.AddRows({{{"job", "j"}, {"host", "h"}, {"rank", 3}, {"loss", "x"}, {"lost", 7}}});
  series = metrics.Collect();
  const RankSeries& one = series.value()[0];
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(one.key.rank, 3);
  EXPECT_EQ(Value(one, "rochound_launches_total"), 103 + 4 + 2);
  EXPECT_EQ(Value(one, "rochound_untimed_launches_total"), 2);
  EXPECT_EQ(Value(one, "rochound_lost_total"), 7);
  EXPECT_DOUBLE_EQ(Value(one, "rochound_busy_seconds_total"), (103000 + 6000 + 8000) * 1e-9);
  // Of the last interval alone.
  EXPECT_EQ(Value(one, "rochound_kernels"), 2);
  EXPECT_DOUBLE_EQ(Value(one, "rochound_kernel_max_seconds"), 8e-6);
  EXPECT_NEAR(Value(one, "rochound_kernel_seconds", "0.99"), 8e-6, 8e-8);
  EXPECT_EQ(one.ns.scale(), kHistogramScale);
  EXPECT_EQ(one.ns.count(), 107u);
}

TEST(RankMetricsTest, BeatsAreGauges) {
  RankMetrics metrics([](const std::set<RankKey>&) {
    return base::Result<std::map<RankKey, RankTotals>>(std::map<RankKey, RankTotals>());
  });
  metrics.AddBeat(json::parse("[]"));
  metrics.AddBeat(json::parse("nonsense", nullptr, false));
  EXPECT_TRUE(metrics.Collect().value().empty());
  metrics.AddBeat({{"job", "j"},
                   {"host", "h"},
                   {"now_ns", 10000000000},
                   {"clock_error_ns", -1},
                   {"processes",
                    {{{"rank", 0},
                      {"state", "stopped"},
                      {"dispatches", 10},
                      {"in_flight", 2},
                      {"collectives", 4},
                      {"recorder_silent_ns", 5000000000},
                      {"last_end_ns", 9000000000},
                      {"oldest", {{{"since_ns", 3000000000}}}}}}}});
  const auto series = metrics.Collect();
  ASSERT_EQ(series.value().size(), 1u);
  const RankSeries& one = series.value()[0];
  EXPECT_EQ(Value(one, "rochound_dispatches_total"), 10);
  EXPECT_EQ(Value(one, "rochound_in_flight"), 2);
  EXPECT_EQ(Value(one, "rochound_process_state"), 2);
  EXPECT_DOUBLE_EQ(Value(one, "rochound_oldest_in_flight_seconds"), 3);
  EXPECT_DOUBLE_EQ(Value(one, "rochound_since_last_kernel_seconds"), 1);
  EXPECT_EQ(Value(one, "rochound_clock_error_seconds"), -1);
  EXPECT_GE(one.points.size(), 18u);
  EXPECT_LE(one.points.size(), 22u);
}

TEST(RankMetricsTest, RanksThatAreSilentAreForgotten) {
  RankMetrics metrics(
      [](const std::set<RankKey>&) {
        return base::Result<std::map<RankKey, RankTotals>>(std::map<RankKey, RankTotals>());
      },
      std::chrono::seconds(-1));
  metrics.AddRows({Row("a", 60, {1000})});
  EXPECT_TRUE(metrics.Collect().value().empty());
}

}  // namespace
}  // namespace rochound::fleet
