// SPDX-License-Identifier: MIT
#include "fleet/metrics/rank_metrics.h"

#include <algorithm>

namespace rochound::fleet {
namespace {

using base::Result;
using nlohmann::json;
using Kind = MetricPoint::Kind;

constexpr double kSecond = 1e-9;

bool SketchOf(const json& row, Histogram* sketch) {
  return sketch->Restore(row.at("scale"), row.at("zeros"), row.at("sum"), row.at("min"),
                         row.at("max"), row.at("first"),
                         row.at("buckets").get<std::vector<uint64_t>>());
}

double StateNumber(const std::string& state) {
  return state == "running" ? 1 : state == "stopped" ? 2 : state == "uninterruptible" ? 3 : 0;
}

}  // namespace

void RankTotals::Add(const RankTotals& other) {
  launches += other.launches;
  untimed += other.untimed;
  work_items += other.work_items;
  lost += other.lost;
  ns.Merge(other.ns);
}

void RankMetrics::AddRows(const std::vector<json>& rows) {
  for (const json& row : rows) {
    Rank& rank = ranks_[{row.at("job"), row.at("host"), row.at("rank")}];
    rank.heard = Clock::now();
    RankTotals totals;
    if (row.contains("loss")) {
      totals.lost = row.at("lost");
    } else {
      totals.launches = row.at("launches");
      totals.untimed = row.at("untimed");
      totals.work_items = row.at("work_items");
      if (!SketchOf(row, &totals.ns)) continue;
      const uint64_t from = row.at("from_ns");
      if (from > rank.last.from_ns) rank.last = {from, {}, {}};
      if (from == rank.last.from_ns) {
        rank.last.ns.Merge(totals.ns);
        rank.last.kernels.insert(row.at("kernel").get<std::string>());
      }
    }
    // One that is not loaded yet gets these with the rest of the lake.
    if (rank.loaded) rank.totals.Add(totals);
  }
}

void RankMetrics::AddBeat(const json& beat) try {
  struct Sum {
    double dispatches = 0, in_flight = 0, oldest = 0, collectives = 0, silent = 0, state = 0,
           age = -1;
  };
  const auto number = [](const json& from, const char* name) {
    const auto found = from.find(name);
    return found != from.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  const double now = number(beat, "now_ns"), clock = number(beat, "clock_error_ns");
  std::map<RankKey, Sum> sums;
  for (const json& process : beat.at("processes")) {
    Sum& sum = sums[{beat.at("job"), beat.at("host"), process.at("rank")}];
    sum.dispatches += number(process, "dispatches");
    sum.in_flight += number(process, "in_flight");
    sum.collectives += number(process, "collectives");
    sum.silent = std::max(sum.silent, number(process, "recorder_silent_ns"));
    sum.state = std::max(sum.state, StateNumber(process.at("state")));
    for (const json& one : process.at("oldest"))
      sum.oldest = std::max(sum.oldest, number(one, "since_ns"));
    const double end = number(process, "last_end_ns");
    if (end > 0 && (sum.age < 0 || now - end < sum.age)) sum.age = std::max(0.0, now - end);
  }
  for (const auto& [key, sum] : sums) {
    Rank& rank = ranks_[key];
    rank.heard = Clock::now();
    rank.beat = {
        {Kind::kCounter, "rochound_dispatches_total", "", "Kernels submitted, of running processes",
         sum.dispatches, ""},
        {Kind::kCounter, "rochound_collectives_total", "", "Collectives submitted", sum.collectives,
         ""},
        {Kind::kGauge, "rochound_in_flight", "", "Kernels submitted and not complete",
         sum.in_flight, ""},
        {Kind::kGauge, "rochound_oldest_in_flight_seconds", "s",
         "Since when the oldest is in flight", sum.oldest * kSecond, ""},
        {Kind::kGauge, "rochound_recorder_silent_seconds", "s",
         "Since the recorder last looked after the log", sum.silent * kSecond, ""},
        {Kind::kGauge, "rochound_process_state", "",
         "0 ended, 1 running, 2 stopped, 3 uninterruptible", sum.state, ""},
        {Kind::kGauge, "rochound_clock_error_seconds", "s",
         "Bound of the host's clock's error; negative: not kept in step",
         clock < 0 ? -1 : clock * kSecond, ""},
        {Kind::kGauge, "rochound_since_last_kernel_seconds", "s",
         "Since a kernel last completed; negative: none did", sum.age < 0 ? -1 : sum.age * kSecond,
         ""},
    };
  }
} catch (const json::exception&) {
  // Not a beat; nobody else's business.
}

Result<std::vector<RankSeries>> RankMetrics::Collect() {
  const auto now = Clock::now();
  std::erase_if(ranks_, [&](const auto& one) { return now - one.second.heard > forget_; });
  std::set<RankKey> fresh;
  for (const auto& [key, rank] : ranks_)
    if (!rank.loaded) fresh.insert(key);
  if (!fresh.empty()) {
    ROCHOUND_TRY(const auto loaded, load_(fresh));
    for (const RankKey& key : fresh) {
      Rank& rank = ranks_[key];
      if (const auto found = loaded.find(key); found != loaded.end()) rank.totals = found->second;
      rank.loaded = true;
    }
  }
  std::vector<RankSeries> all;
  for (const auto& [key, rank] : ranks_) {
    const RankTotals& totals = rank.totals;
    const Histogram& last = rank.last.ns;
    RankSeries series{key, {}, totals.ns};
    series.ns.Coarsen(kHistogramScale);
    const auto count = [](uint64_t value) { return static_cast<double>(value); };
    series.points = {
        {Kind::kCounter, "rochound_launches_total", "", "Kernel launches that completed",
         count(totals.launches), ""},
        {Kind::kCounter, "rochound_untimed_launches_total", "", "Launches whose time was lost",
         count(totals.untimed), ""},
        {Kind::kCounter, "rochound_work_items_total", "", "Work-items of all launches",
         count(totals.work_items), ""},
        {Kind::kCounter, "rochound_busy_seconds_total", "s", "Time that kernels ran, added up",
         count(totals.ns.sum()) * kSecond, ""},
        {Kind::kCounter, "rochound_lost_total", "", "What is known to be missing",
         count(totals.lost), ""},
        {Kind::kGauge, "rochound_kernels", "", "Different kernels in the last interval",
         count(rank.last.kernels.size()), ""},
        {Kind::kGauge, "rochound_kernel_max_seconds", "s",
         "The longest launch of the last interval", count(last.max()) * kSecond, ""},
    };
    for (const auto& [word, part] :
         {std::pair("0.5", 0.5), std::pair("0.9", 0.9), std::pair("0.99", 0.99)})
      series.points.push_back({Kind::kGauge, "rochound_kernel_seconds", "s",
                               "Launches of the last interval: so many take no longer",
                               last.Quantile(part) * kSecond, word});
    series.points.insert(series.points.end(), rank.beat.begin(), rank.beat.end());
    all.push_back(std::move(series));
  }
  return all;
}

}  // namespace rochound::fleet
