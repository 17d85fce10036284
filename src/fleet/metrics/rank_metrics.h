// SPDX-License-Identifier: MIT
//
// Some twenty series per rank, for dashboards and alerts; everything finer is in the lake. Counters
// are what the lake has: they are taken from there when a rank is first seen and grow with each file
// that was written, so they never go back and count nothing twice, whoever is killed. Gauges are of
// the last sketch and of the last beat. Owned by the aggregator's command, on its one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/sketch/histogram.h"

namespace rochound::fleet {

struct RankKey {
  std::string job, host;
  int64_t rank = -1;
  auto operator<=>(const RankKey&) const = default;
};

// What the lake has of a rank, from its beginning.
struct RankTotals {
  uint64_t launches = 0, untimed = 0, work_items = 0, lost = 0;
  Histogram ns;
  void Add(const RankTotals& other);
};

// A number of one rank, as it is sent.
struct MetricPoint {
  enum class Kind { kCounter, kGauge } kind = Kind::kGauge;
  const char* name = "";
  const char* unit = "";
  const char* about = "";
  double value = 0;
  std::string quantile;  // empty: it has none
};
struct RankSeries {
  RankKey key;
  std::vector<MetricPoint> points;
  Histogram ns;  // coarsened to kHistogramScale
};

// Powers of two, so that a rank's histogram is about ten series; quantiles that are finer are series
// of their own.
inline constexpr int kHistogramScale = 0;
inline constexpr const char* kHistogramName = "rochound_kernel_duration_nanoseconds";

class RankMetrics {
 public:
  // Gives what the lake has of these ranks.
  using Load = std::function<base::Result<std::map<RankKey, RankTotals>>(const std::set<RankKey>&)>;
  explicit RankMetrics(Load load, std::chrono::seconds forget = std::chrono::minutes(15))
      : load_(std::move(load)), forget_(forget) {}

  // Rows that are in the lake now, as LakeRows made them.
  void AddRows(const std::vector<nlohmann::json>& rows);
  void AddBeat(const nlohmann::json& beat);

  // All series of ranks that were heard of lately.
  base::Result<std::vector<RankSeries>> Collect();

 private:
  using Clock = std::chrono::steady_clock;
  struct Interval {
    uint64_t from_ns = 0;
    Histogram ns;
    std::set<std::string> kernels;
  };
  struct Rank {
    bool loaded = false;
    RankTotals totals;
    Interval last;
    std::vector<MetricPoint> beat;
    Clock::time_point heard;
  };

  Load load_;
  std::chrono::seconds forget_;
  std::map<RankKey, Rank> ranks_;
};

}  // namespace rochound::fleet
