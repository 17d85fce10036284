// SPDX-License-Identifier: MIT
#include "fleet/stragglers/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace rochound::fleet {
namespace {

using nlohmann::json;
using KernelName = std::pair<std::string, std::string>;  // symbol, code object

constexpr uint64_t kFewestLaunches = 20;  // of a kernel on a rank
constexpr double kSameWork = 0.01;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double Spread(const std::vector<double>& values) {
  const double middle = Median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return std::max(kFinest, 1.4826 * Median(distances));
}

// Kernels of RCCL, whose names NCCL gave.
bool IsCollective(const std::string& kernel) {
  return kernel.find("ncclDevKernel") != std::string::npos ||
         kernel.find("ncclKernel") != std::string::npos;
}

// One kernel on one rank over a time.
struct OnRank {
  uint64_t launches = 0, sum_ns = 0, work_items = 0;
  std::vector<double> means;  // of intervals
  double work() const {
    return static_cast<double>(work_items) / static_cast<double>(std::max<uint64_t>(launches, 1));
  }
};

struct Side {  // of the time: now, or the past
  std::map<KernelName, std::map<int64_t, OnRank>> kernels;
  std::map<int64_t, uint64_t> collectives_ns;  // by rank
  std::set<uint64_t> intervals;
  uint64_t span_ns = 0;
};

Side Collect(const std::vector<const KernelInterval*>& rows) {
  Side side;
  for (const KernelInterval* row : rows) {
    if (side.intervals.insert(row->from_ns).second) side.span_ns += row->interval_ns;
    if (IsCollective(row->kernel)) {
      side.collectives_ns[row->rank] += row->nanoseconds.sum();
      continue;
    }
    if (row->nanoseconds.count() == 0) continue;
    OnRank& one = side.kernels[{row->kernel, row->code_object}][row->rank];
    one.launches += row->nanoseconds.count();
    one.sum_ns += row->nanoseconds.sum();
    one.work_items += row->work_items;
    one.means.push_back(row->nanoseconds.UsualMean());
  }
  return side;
}

// The logarithm of a kernel's time on each rank that gives it the usual work.
std::map<int64_t, double> TimesOf(const std::map<int64_t, OnRank>& ranks) {
  std::vector<double> works;
  for (const auto& [rank, one] : ranks) works.push_back(one.work());
  const double usual = Median(works);
  std::map<int64_t, double> times;
  for (const auto& [rank, one] : ranks)
    if (one.launches >= kFewestLaunches && std::abs(one.work() - usual) <= usual * kSameWork)
      if (const double time = Median(one.means); time > 0) times[rank] = std::log(time);
  return times;
}

struct Scores {
  std::map<int64_t, double> by_rank;
  std::map<int64_t, std::pair<std::string, double>> worst;  // kernel, how much slower
  size_t kernels = 0;
};

// The mean over kernels of what `times` gives for each rank, minus the ranks' median, weighted by
// the time that the kernel takes.
template <typename Times>
Scores Score(const Side& side, Times times) {
  Scores scores;
  std::map<int64_t, double> weights;
  std::map<int64_t, double> most;
  for (const auto& [name, ranks] : side.kernels) {
    const std::map<int64_t, double> values = times(name, ranks);
    if (values.size() < kFewest) continue;
    ++scores.kernels;
    std::vector<double> all, totals;
    for (const auto& [rank, value] : values) {
      all.push_back(value);
      totals.push_back(static_cast<double>(ranks.at(rank).sum_ns));
    }
    const double middle = Median(all), weight = Median(totals);
    for (const auto& [rank, value] : values) {
      const double adds = weight * (value - middle);
      scores.by_rank[rank] += adds;
      weights[rank] += weight;
      if (auto& worst = most[rank]; adds > worst) {
        worst = adds;
        scores.worst[rank] = {name.first, std::expm1(value - middle)};
      }
    }
  }
  for (auto& [rank, score] : scores.by_rank)
    if (weights[rank] > 0) score = std::expm1(score / weights[rank]);
  return scores;
}

std::vector<double> Values(const std::map<int64_t, double>& by_rank) {
  std::vector<double> values;
  for (const auto& [rank, value] : by_rank) values.push_back(value);
  return values;
}

}  // namespace

StragglerReport FindStragglers(const std::vector<KernelInterval>& rows, uint64_t since_ns) {
  std::vector<const KernelInterval*> now_rows, past_rows;
  std::map<int64_t, RankScore> ranks;
  for (const KernelInterval& row : rows) {
    if (row.rank < 0) continue;
    (row.from_ns < since_ns ? past_rows : now_rows).push_back(&row);
    if (row.from_ns < since_ns) continue;
    ranks[row.rank].rank = row.rank;
    ranks[row.rank].host = row.host;
  }
  StragglerReport report;
  const Side now = Collect(now_rows), past = Collect(past_rows);
  report.intervals = now.intervals.size();
  report.past_intervals = past.intervals.size();
  if (ranks.size() < kFewest) {
    report.why_not = fmt::format(
        "{} ranks have launched kernels in this time: from {} on, one can "
        "be told from the others",
        ranks.size(), kFewest);
    return report;
  }
  const Scores slower = Score(
      now, [](const KernelName&, const std::map<int64_t, OnRank>& on) { return TimesOf(on); });
  // How much each kernel has changed on each rank since.
  const Scores before =
      Score(now, [&](const KernelName& name, const std::map<int64_t, OnRank>& on) {
        std::map<int64_t, double> changes;
        const auto then = past.kernels.find(name);
        if (then == past.kernels.end()) return changes;
        const auto old_times = TimesOf(then->second);
        for (const auto& [rank, time] : TimesOf(on))
          if (const auto old = old_times.find(rank); old != old_times.end())
            changes[rank] = time - old->second;
        return changes;
      });
  std::map<int64_t, double> late;
  if (now.span_ns != 0 && now.collectives_ns.size() >= kFewest) {
    std::map<int64_t, double> parts;
    for (const auto& [rank, ns] : now.collectives_ns)
      parts[rank] = static_cast<double>(ns) / static_cast<double>(now.span_ns);
    const double middle = Median(Values(parts));
    for (const auto& [rank, part] : parts) late[rank] = middle - part;
  }
  report.kernels = slower.kernels;
  if (slower.kernels == 0 && late.empty()) {
    report.why_not = "no kernel was launched often enough, with the same work, on several ranks";
    return report;
  }
  report.slower_spread = Spread(Values(slower.by_rank));
  report.before_spread = Spread(Values(before.by_rank));
  report.late_spread = Spread(Values(late));
  const auto judge = [](const std::map<int64_t, double>& by_rank, int64_t rank, double spread,
                        double* value, bool* accused) {
    const auto found = by_rank.find(rank);
    if (found == by_rank.end()) return;
    *value = found->second;
    *accused = *value >= kLeast && *value >= kSigmas * spread;
  };
  for (auto& [number, rank] : ranks) {
    judge(slower.by_rank, number, report.slower_spread, &rank.slower, &rank.is_slow);
    judge(late, number, report.late_spread, &rank.late, &rank.is_late);
    judge(before.by_rank, number, report.before_spread, &rank.than_before,
          &rank.is_slower_than_before);
    if (const auto worst = slower.worst.find(number); worst != slower.worst.end())
      std::tie(rank.worst_kernel, rank.worst_slower) = worst->second;
    report.ranks.push_back(rank);
  }
  std::stable_sort(report.ranks.begin(), report.ranks.end(),
                   [](const RankScore& a, const RankScore& b) {
                     return std::tuple(b.accused(), std::max(b.slower, b.late)) <
                            std::tuple(a.accused(), std::max(a.slower, a.late));
                   });
  return report;
}

json StragglerReport::AsJson() const {
  json list = json::array();
  for (const RankScore& rank : ranks)
    list.push_back({{"rank", rank.rank},
                    {"host", rank.host},
                    {"straggler", rank.accused()},
                    {"slower", rank.slower},
                    {"is_slow", rank.is_slow},
                    {"late", rank.late},
                    {"is_late", rank.is_late},
                    {"than_before", rank.than_before},
                    {"is_slower_than_before", rank.is_slower_than_before},
                    {"worst_kernel", rank.worst_kernel},
                    {"worst_slower", rank.worst_slower}});
  return {{"ranks", list},
          {"spread",
           {{"slower", slower_spread}, {"late", late_spread}, {"than_before", before_spread}}},
          {"kernels", kernels},
          {"intervals", intervals},
          {"past_intervals", past_intervals},
          {"least", kLeast},
          {"sigmas", kSigmas},
          {"why_not", why_not}};
}

std::string StragglerReport::AsText() const {
  if (!why_not.empty()) return why_not + "\n";
  std::string text;
  size_t accused = 0;
  for (const RankScore& rank : ranks) {
    if (!rank.accused()) continue;
    ++accused;
    text += fmt::format("! rank {:>4}  {}:", rank.rank, rank.host);
    const char* comma = "";
    if (rank.is_slow) {
      text += fmt::format(" its kernels take {:.1f}% longer than those of most ranks, {} {:.1f}%",
                          rank.slower * 100, rank.worst_kernel, rank.worst_slower * 100);
      comma = ";";
    }
    if (rank.is_late) {
      text += fmt::format("{} the others wait for it in collectives for {:.1f}% of the time", comma,
                          rank.late * 100);
      comma = ";";
    }
    if (rank.is_slower_than_before)
      text += fmt::format("{} {:.1f}% slower than it was", comma, rank.than_before * 100);
    text += "\n";
  }
  const std::string measured = fmt::format(
      "{} ranks, {} kernels, {} intervals; spread between ranks {:.2f}%{}", ranks.size(), kernels,
      intervals, slower_spread * 100,
      past_intervals == 0 ? "" : fmt::format(", {} intervals of the past", past_intervals));
  if (accused == 0) return "no straggler: " + measured + "\n";
  return fmt::format("{} of {} ranks hold the others up\n{}{}\n", accused, ranks.size(), text,
                     measured);
}

}  // namespace rochound::fleet
