// SPDX-License-Identifier: MIT
#include "analysis/stragglers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/meetings.h"
#include "analysis/rccl_collectives.h"
#include "analysis/statistics.h"
#include "analysis/table_builder.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Connection;
using store::duck::Literal;
using store::duck::Rows;

constexpr double kSignificant = 0.01;
constexpr double kWorthNaming = 0.02;  // of a step: below this a rank is not slow, however surely
constexpr size_t kFewest = 3;          // steps or collectives, to tell anything from chance

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// --- collectives

struct Rank {
  int64_t number = 0, gpu = 0, pid = 0;
  int64_t collectives = 0, times_last = 0, waited_ns = 0, caused_wait_ns = 0;
  int64_t alone = 0;
  std::vector<double> after_others;  // nanoseconds, per collective
  bool late = false;
};

struct Collectives {
  std::vector<Rank> ranks;
  Meetings meetings;
  int64_t alone = 0, parts = 0;
  int64_t missing = 0;  // parts that communicators have and the trace has not
};

struct KernelPart {
  std::string name;
  int64_t gpu, pid, start, end;
};

// Kernels of collectives whose calls are not known.
constexpr const char* kKernels = R"sql(
SELECT s.string AS name, o."gpuId", coalesce(p.pid, 0), o.start, o."end"
FROM rocpd_op o
JOIN rocpd_string s ON s.id = o.description_id AND regexp_matches(s.string, '(?i)(nccl|rccl)')
LEFT JOIN rochound_process p ON p.session = o.id >> 32
WHERE o.id NOT IN (SELECT op_id FROM found.rccl_op WHERE op_id IS NOT NULL)
ORDER BY o.start, o.id)sql";

// Numbers the ranks: by RCCL's numbers where every process has one of its own, else by GPU and
// process.
class RankNumbers {
 public:
  using Place = std::pair<int64_t, int64_t>;  // GPU and process

  void See(int64_t gpu, int64_t pid) { numbers_[{gpu, pid}] = 0; }
  void Number(const std::map<int64_t, int64_t>& by_pid, std::vector<Rank>* ranks) {
    std::map<int64_t, Place> places;
    for (const auto& [place, number] : numbers_)
      if (const auto known = by_pid.find(place.second); known != by_pid.end())
        places[known->second] = place;
    if (places.size() < numbers_.size()) {
      places.clear();
      for (const auto& [place, number] : numbers_)
        places[static_cast<int64_t>(places.size())] = place;
    }
    for (const auto& [number, place] : places) {
      numbers_[place] = ranks->size();
      ranks->push_back(
          {.number = number, .gpu = place.first, .pid = place.second, .after_others = {}});
    }
  }
  int64_t Of(int64_t gpu, int64_t pid) const {
    return static_cast<int64_t>(numbers_.at({gpu, pid}));
  }

 private:
  std::map<Place, size_t> numbers_;  // in the list of ranks
};

Result<Collectives> ReadCollectives(Connection& connection) {
  Collectives found;
  ROCHOUND_TRY(const RcclCollectives rccl, ReadRcclCollectives(connection));
  std::vector<KernelPart> kernels;
  RankNumbers numbers;
  for (const RcclCollective& collective : rccl.all)
    for (const RcclCollective::Part& part : collective.parts) numbers.See(part.gpu, part.pid);
  {
    ROCHOUND_TRY(Rows rows, connection.Query(kKernels));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      kernels.push_back(
          {std::string(rows.Text(0)), rows.Int(1), rows.Int(2), rows.Int(3), rows.Int(4)});
      numbers.See(kernels.back().gpu, kernels.back().pid);
    }
  }
  numbers.Number(rccl.ranks_by_pid, &found.ranks);
  for (const RcclCollective& collective : rccl.all) {
    Meeting meeting{collective.name, {}, collective.bytes};
    for (const RcclCollective::Part& part : collective.parts)
      meeting.parts.push_back({numbers.Of(part.gpu, part.pid), part.start, part.end});
    const auto parts = static_cast<int64_t>(meeting.parts.size());
    found.parts += parts;
    found.missing += std::max<int64_t>(0, collective.ranks - parts);
    found.meetings.AddKnown(std::move(meeting));
  }
  for (const KernelPart& part : kernels)
    found.meetings.Add(part.name, {numbers.Of(part.gpu, part.pid), part.start, part.end});
  found.parts += static_cast<int64_t>(kernels.size());
  for (const Meeting& meeting : found.meetings.all()) {
    if (meeting.parts.size() == 1) {
      ++found.ranks[static_cast<size_t>(meeting.parts[0].rank)].alone;
      ++found.alone;
      continue;
    }
    const CollectivePart& last = meeting.parts.back();
    double sum = 0;
    for (const CollectivePart& part : meeting.parts)
      sum += static_cast<double>(part.start - last.start);
    for (const CollectivePart& part : meeting.parts) {
      Rank& rank = found.ranks[static_cast<size_t>(part.rank)];
      ++rank.collectives;
      const auto own = static_cast<double>(part.start - last.start);
      rank.after_others.push_back(own -
                                  (sum - own) / static_cast<double>(meeting.parts.size() - 1));
      rank.waited_ns += last.start - part.start;
      found.ranks[static_cast<size_t>(last.rank)].caused_wait_ns += last.start - part.start;
    }
    ++found.ranks[static_cast<size_t>(last.rank)].times_last;
  }
  std::vector<double> p;
  for (const Rank& rank : found.ranks) p.push_back(AreAboveZeroP(rank.after_others));
  p = HolmAdjusted(p);
  for (size_t i = 0; i < found.ranks.size(); ++i) {
    found.ranks[i].late = p[i] < kSignificant && Mean(found.ranks[i].after_others) >
                                                     static_cast<double>(Meetings::kClockTolerance);
  }
  return found;
}

Table RanksTable(const Collectives& found, uint64_t limit) {
  TableBuilder table("ranks", "Ranks, the one that others wait for most first",
                     {"#rank", "#gpu", "#pid", "#collectives", "#times_last", "#last_percent",
                      "#waited_ns", "#caused_wait_ns", "#met_nobody", "verdict"},
                     limit);
  std::vector<size_t> order;
  for (size_t i = 0; i < found.ranks.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return found.ranks[a].caused_wait_ns > found.ranks[b].caused_wait_ns;
  });
  for (const size_t i : order) {
    const Rank& rank = found.ranks[i];
    table.Row({rank.number, rank.gpu, rank.pid, rank.collectives, rank.times_last,
               Percent(rank.times_last, rank.collectives), rank.waited_ns, rank.caused_wait_ns,
               rank.alone, std::string(rank.late ? "late" : "")});
  }
  return table.Take();
}

Table CollectivesTable(const Collectives& found, uint64_t limit) {
  struct Line {
    int64_t meetings = 0, spread = 0, widest = -1, late = 0;
  };
  std::map<std::tuple<std::string, std::string, int64_t>, Line> lines;  // name, members, bytes
  for (const Meeting& meeting : found.meetings.all()) {
    if (meeting.parts.size() == 1) continue;
    std::vector<int64_t> ranks;
    for (const CollectivePart& part : meeting.parts)
      ranks.push_back(found.ranks[static_cast<size_t>(part.rank)].number);
    std::sort(ranks.begin(), ranks.end());
    std::string members;
    for (const int64_t rank : ranks) members += (members.empty() ? "" : ",") + std::to_string(rank);
    Line& line = lines[{meeting.name, members, meeting.bytes}];
    ++line.meetings;
    line.spread += meeting.Spread();
    if (meeting.Spread() <= line.widest) continue;
    line.widest = meeting.Spread();
    line.late = found.ranks[static_cast<size_t>(meeting.parts.back().rank)].number;
  }
  std::vector<std::pair<std::tuple<std::string, std::string, int64_t>, Line>> order(lines.begin(),
                                                                                    lines.end());
  const auto mean = [](const Line& line) {
    return static_cast<double>(line.spread) / static_cast<double>(line.meetings);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto& a, const auto& b) { return mean(a.second) > mean(b.second); });
  TableBuilder table("collectives", "Collectives, by how far apart their ranks start",
                     {"name", "ranks", "#rank_bytes", "#meetings", "#mean_spread_ns",
                      "#max_spread_ns", "#late_rank_at_max"},
                     limit);
  for (const auto& [key, line] : order) {
    const auto& [name, members, bytes] = key;
    table.Row({name, members, bytes >= 0 ? Value(bytes) : Value(), line.meetings, mean(line),
               line.widest, line.late});
  }
  return table.Take();
}

// --- steps

struct StepRank {
  int64_t pid = 0, tid = 0;
  int64_t steps = 0, times_slowest = 0;
  double total_ns = 0;
  std::vector<double> over_others;  // per step, in nanoseconds
  double p = 1;
  bool slower = false;

  double MeanOver() const { return Mean(over_others); }
};

struct StepTurn {
  std::string step;
  int64_t turn = 0;
  std::vector<std::pair<size_t, int64_t>> lengths;  // rank and nanoseconds
};

struct Steps {
  std::vector<StepRank> ranks;
  std::vector<StepTurn> turns;  // those that several ranks made
};

constexpr const char* kSteps = R"sql(
SELECT u.string,
  row_number() OVER (PARTITION BY a.pid, a.tid, u.string ORDER BY a.start, a.id) AS turn,
  dense_rank() OVER (ORDER BY a.pid, a.tid) - 1, a.pid, a.tid, a."end" - a.start
FROM rocpd_api a
JOIN rocpd_string d ON d.id = a.domain_id AND d.string IN ('roctx', 'torch')
JOIN rocpd_ustring u ON u.id = a.args_id
WHERE regexp_matches(u.string, @)
ORDER BY u.string, turn, a.pid, a.tid)sql";

Result<Steps> ReadSteps(Connection& connection, const std::string& pattern) {
  std::string sql = kSteps;
  sql.replace(sql.find('@'), 1, Literal(pattern));
  Steps steps;
  ROCHOUND_TRY(Rows rows, connection.Query(sql));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    const auto rank = static_cast<size_t>(rows.Int(2));
    if (rank >= steps.ranks.size()) steps.ranks.resize(rank + 1);
    steps.ranks[rank].pid = rows.Int(3);
    steps.ranks[rank].tid = rows.Int(4);
    if (steps.turns.empty() || steps.turns.back().step != rows.Text(0) ||
        steps.turns.back().turn != rows.Int(1))
      steps.turns.push_back({std::string(rows.Text(0)), rows.Int(1), {}});
    steps.turns.back().lengths.emplace_back(rank, rows.Int(5));
  }
  std::erase_if(steps.turns, [](const StepTurn& turn) { return turn.lengths.size() < 2; });

  for (const StepTurn& turn : steps.turns) {
    double sum = 0;
    for (const auto& [rank, ns] : turn.lengths) sum += static_cast<double>(ns);
    const auto slowest =
        std::max_element(turn.lengths.begin(), turn.lengths.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    ++steps.ranks[slowest->first].times_slowest;
    for (const auto& [rank, ns] : turn.lengths) {
      StepRank& of = steps.ranks[rank];
      const auto own = static_cast<double>(ns);
      ++of.steps;
      of.total_ns += own;
      of.over_others.push_back(own - (sum - own) / static_cast<double>(turn.lengths.size() - 1));
    }
  }
  std::vector<double> p;
  for (StepRank& rank : steps.ranks) p.push_back(AreAboveZeroP(rank.over_others));
  p = HolmAdjusted(p);
  for (size_t i = 0; i < steps.ranks.size(); ++i) {
    StepRank& rank = steps.ranks[i];
    rank.p = p[i];
    rank.slower = rank.p < kSignificant &&
                  rank.MeanOver() > kWorthNaming * rank.total_ns / static_cast<double>(rank.steps);
  }
  return steps;
}

Table StepRanksTable(const Steps& steps, uint64_t limit) {
  TableBuilder table("step_ranks", "Ranks by their steps",
                     {"#pid", "#thread", "#steps", "#mean_ns", "#times_slowest",
                      "#over_others_mean_ns", "#p", "verdict"},
                     limit);
  std::vector<const StepRank*> order;
  for (const StepRank& rank : steps.ranks)
    if (rank.steps > 0) order.push_back(&rank);
  std::stable_sort(order.begin(), order.end(), [](const StepRank* a, const StepRank* b) {
    return a->MeanOver() > b->MeanOver();
  });
  for (const StepRank* rank : order) {
    const bool tested = rank->over_others.size() >= kFewest;
    table.Row({rank->pid, rank->tid, rank->steps, rank->total_ns / static_cast<double>(rank->steps),
               rank->times_slowest, rank->MeanOver(), tested ? Value(rank->p) : Value(),
               std::string(rank->slower ? "slower"
                           : tested     ? ""
                                        : "not known")});
  }
  return table.Take();
}

Table StepsTable(const Steps& steps, uint64_t limit) {
  struct Line {
    const StepTurn* turn;
    size_t slowest;
    int64_t fastest_ns, slowest_ns;
  };
  std::vector<Line> lines;
  for (const StepTurn& turn : steps.turns) {
    const auto [fast, slow] =
        std::minmax_element(turn.lengths.begin(), turn.lengths.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
    lines.push_back({&turn, slow->first, fast->second, slow->second});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return a.slowest_ns - a.fastest_ns > b.slowest_ns - b.fastest_ns;
  });
  TableBuilder table("steps", "Steps whose ranks took most different times",
                     {"step", "#turn", "#ranks", "#fastest_ns", "#slowest_ns", "#slowest_pid",
                      "#slowest_thread", "#spread_percent"},
                     limit);
  for (const Line& line : lines) {
    const StepRank& rank = steps.ranks[line.slowest];
    table.Row({line.turn->step, line.turn->turn, static_cast<int64_t>(line.turn->lengths.size()),
               line.fastest_ns, line.slowest_ns, rank.slower ? Value(rank.pid) : Value(),
               rank.slower ? Value(rank.tid) : Value(),
               Percent(line.slowest_ns - line.fastest_ns, line.slowest_ns)});
  }
  return table.Take();
}

// --- in a sentence

std::string Milliseconds(double ns) {
  char text[32];
  snprintf(text, sizeof text, "%.1f ms", ns / 1e6);
  return text;
}

void AddNotes(const Collectives& found, const Steps& steps, std::vector<std::string>* notes) {
  size_t late = 0;
  for (const Rank& rank : found.ranks) {
    if (!rank.late) continue;
    ++late;
    notes->push_back("Rank " + std::to_string(rank.number) + " (GPU " + std::to_string(rank.gpu) +
                     ", pid " + std::to_string(rank.pid) + ") starts last in " +
                     std::to_string(rank.times_last) + " of " + std::to_string(rank.collectives) +
                     " collectives; the others waited " +
                     Milliseconds(static_cast<double>(rank.caused_wait_ns)) + " for it.");
  }
  const bool met = found.alone < found.parts;
  if (late == 0 && met)
    notes->emplace_back("No rank is later in collectives than chance makes it.");
  if (found.alone > 0) {
    notes->push_back(std::to_string(found.alone) + " of " + std::to_string(found.parts) +
                     " collectives met none of another rank: ranks that were not recorded, a "
                     "communicator of one rank, or clocks of nodes that disagree.");
  }
  if (found.missing > 0) {
    notes->push_back(std::to_string(found.missing) +
                     " parts of collectives belong to ranks that are not in this trace.");
  }
  size_t slow = 0;
  for (const StepRank& rank : steps.ranks) {
    if (!rank.slower) continue;
    ++slow;
    notes->push_back("Steps of pid " + std::to_string(rank.pid) + ", thread " +
                     std::to_string(rank.tid) + " take " + Milliseconds(rank.MeanOver()) +
                     " longer than those of the others.");
  }
  if (slow == 0 && !steps.turns.empty()) {
    notes->emplace_back(
        "Steps tell of no slow rank. Ranks that wait for each other inside the step all take as "
        "long as the slowest: name the ranges around their work with --steps REGEX.");
  }
  notes->emplace_back(
      "A rank is a process on a GPU. Collectives are paired by RCCL's communicators where its "
      "calls "
      "were recorded, else by kernels that run at the same time. Who starts last is late, the "
      "others wait for it; late and slower mean p below 0.01.");
}

}  // namespace

Result<Answer> AskStragglers(store::TraceDatabase& trace, const AskOptions& options) {
  ROCHOUND_TRY(const Collectives found, ReadCollectives(trace.connection()));
  ROCHOUND_TRY(const Steps steps, ReadSteps(trace.connection(), options.step_pattern));
  Answer answer;
  AddNotes(found, steps, &answer.notes);
  answer.tables.push_back(RanksTable(found, options.limit));
  answer.tables.push_back(CollectivesTable(found, options.limit));
  answer.tables.push_back(StepRanksTable(steps, options.limit));
  answer.tables.push_back(StepsTable(steps, options.limit));
  return answer;
}

}  // namespace rochound::analysis
