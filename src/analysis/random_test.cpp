// SPDX-License-Identifier: MIT
//
// What the questions find in random traces, against what the slow reference finds. A failure names
// the trace's seed.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analysis/call_stacks.h"
#include "analysis/critical_path.h"
#include "analysis/idle.h"
#include "analysis/overlap.h"
#include "analysis/test_path_reference.h"
#include "analysis/test_random.h"
#include "analysis/test_reference.h"

namespace rochound::analysis {
namespace {

constexpr uint32_t kTraces = 1000;
constexpr int64_t kTestClockError = 2;  // the traces are short

class RandomTest : public testing::Test {
 protected:
  RandomTest() : database_(TestTrace().Open()) {}

  store::duck::Connection& Load(const TestTrace& trace) {
    trace.Fill(database_);
    return database_.connection();
  }

  store::TraceDatabase database_;
};

auto Figures(const CallCost& cost) {
  return std::tuple(cost.parent, cost.depth, cost.cpu_inclusive, cost.cpu_exclusive,
                    cost.gpu_inclusive, cost.gpu_exclusive);
}

auto Figures(const CallTotals& totals) {
  return std::tuple(totals.calls, totals.cpu_inclusive, totals.cpu_exclusive, totals.gpu_inclusive,
                    totals.gpu_exclusive);
}

TEST_F(RandomTest, CallStacks) {
  int64_t deep = 0;
  for (uint32_t seed = 1; seed <= kTraces && !HasFailure(); seed += RandomTraces::kAtOnce) {
    SCOPED_TRACE("seeds from " + std::to_string(seed));
    const RandomTraces traces(seed, seed % 4 == 0);
    std::map<int64_t, CallCost> calls;
    auto stacks =
        LoadCallStacks(Load(traces.all), [&](const CallCost& call) { calls[call.id] = call; });
    ASSERT_TRUE(stacks.ok()) << stacks.error().message;

    std::map<std::string, CallTotals> names, paths;
    std::vector<Reference::Cost> expected;
    for (const TestTrace& trace : traces.each)
      for (const Reference::Cost& one : Reference(trace).CallStacks()) expected.push_back(one);
    for (const Reference::Cost& one : expected) {
      ASSERT_TRUE(calls.count(one.cost.id)) << one.cost.id;
      EXPECT_EQ(Figures(calls[one.cost.id]), Figures(one.cost)) << one.path << " " << one.cost.id;
      paths[one.path].Add(one.cost);
      CallCost by_name = one.cost;
      if (one.within_itself) by_name.cpu_inclusive = by_name.gpu_inclusive = 0;
      names[one.name].Add(by_name);
      deep += one.cost.depth;
    }
    EXPECT_EQ(calls.size(), expected.size());
    for (uint32_t i = 0; i < stacks.value().names.size(); ++i) {
      if (stacks.value().names[i].calls == 0) continue;
      const std::string& name = stacks.value().texts[i];
      EXPECT_EQ(Figures(stacks.value().names[i]), Figures(names[name])) << name;
      names.erase(name);
    }
    EXPECT_TRUE(names.empty());
    const auto& nodes = stacks.value().tree.nodes();
    for (uint32_t i = 1; i < nodes.size(); ++i) {
      std::string path = stacks.value().NameOf(nodes[i].name);
      for (uint32_t up = nodes[i].parent; up != 0; up = nodes[up].parent)
        path = stacks.value().NameOf(nodes[up].name) + " > " + path;
      EXPECT_EQ(Figures(nodes[i].totals), Figures(paths[path])) << path;
      paths.erase(path);
    }
    EXPECT_TRUE(paths.empty());
  }
  EXPECT_GT(deep, kTraces);  // or there is nothing to compare
}

TEST_F(RandomTest, Idle) {
  std::map<IdleCause, int64_t> seen;
  for (uint32_t seed = 1; seed <= kTraces && !HasFailure(); seed += RandomTraces::kAtOnce) {
    SCOPED_TRACE("seeds from " + std::to_string(seed));
    const RandomTraces traces(seed, false);
    const Window window = Reference::WindowOf(traces.all);
    const auto idle = AnalyzeIdle(Load(traces.all), 1000);
    ASSERT_TRUE(idle.ok()) << idle.error().message;
    const IdleSweep& sweep = *idle.value().sweep;

    EXPECT_EQ(idle.value().window.begin, window.begin);
    EXPECT_EQ(idle.value().window.end, window.end);
    std::map<std::pair<int64_t, int64_t>, Reference::IdleLane> expected;
    for (const TestTrace& trace : traces.each) expected.merge(Reference(trace, window).Idle());

    // A lane's figures: busy, gaps, then the causes.
    const auto compare = [&](const IdleSweep::Lane& lane, int64_t queue) {
      SCOPED_TRACE("gpu " + std::to_string(lane.gpu) + " queue " + std::to_string(queue));
      const Reference::IdleLane& one = expected[{lane.gpu, queue}];
      std::array<int64_t, kIdleCauses> idle_ns{};
      for (const auto& [begin, reasons] : one.gaps)
        for (const auto& [reason, ns] : reasons) idle_ns[static_cast<size_t>(reason.first)] += ns;
      EXPECT_EQ(lane.busy, one.busy);
      EXPECT_EQ(lane.gaps, static_cast<int64_t>(one.gaps.size()));
      EXPECT_EQ(lane.idle, idle_ns);
      EXPECT_EQ(std::accumulate(lane.idle.begin(), lane.idle.end(), lane.busy), window.length());
    };
    for (const IdleSweep::Lane& gpu : sweep.gpus()) compare(gpu, Reference::kWholeGpu);
    for (const IdleSweep::Lane& queue : sweep.queues()) compare(queue, queue.queue);
    EXPECT_EQ(sweep.gpus().size() + sweep.queues().size(), expected.size());

    std::map<std::tuple<int64_t, IdleCause, std::string>, std::pair<int64_t, int64_t>> found, right;
    for (const auto& [key, total] : sweep.reasons()) {
      const auto& [gpu, cause, what] = key;
      found[{gpu, cause, idle.value().Text(what)}] = {total.ns, total.gaps};
    }
    int64_t gaps = 0;
    for (const auto& [key, lane] : expected) {
      if (key.second != Reference::kWholeGpu) continue;
      gaps += static_cast<int64_t>(lane.gaps.size());
      for (const auto& [begin, reasons] : lane.gaps) {
        for (const auto& [reason, ns] : reasons) {
          auto& [sum, count] = right[{key.first, reason.first, reason.second}];
          sum += ns;
          ++count;
          seen[reason.first] += ns;
        }
      }
    }
    EXPECT_EQ(found, right);
    EXPECT_EQ(static_cast<int64_t>(sweep.longest().size()), gaps);
    int64_t last = INT64_MAX;
    for (const IdleGap& gap : sweep.longest()) {
      EXPECT_LE(gap.end - gap.begin, last);
      last = gap.end - gap.begin;
      const Reference::Reasons& reasons = expected[{gap.gpu, Reference::kWholeGpu}].gaps[gap.begin];
      const auto main =
          std::max_element(reasons.begin(), reasons.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      ASSERT_NE(main, reasons.end());
      EXPECT_EQ(std::pair(gap.main.cause, idle.value().Text(gap.main.what)), main->first);
      EXPECT_EQ(gap.main.ns, main->second);
    }
  }
  for (const IdleCause cause :
       {IdleCause::kOutsideHip, IdleCause::kOtherCall, IdleCause::kSync, IdleCause::kLaunchLatency,
        IdleCause::kKernelTooShort, IdleCause::kDependency, IdleCause::kCodeLoading,
        IdleCause::kUnknownLaunch})
    EXPECT_GT(seen[cause], kTraces / 4) << IdleCauseName(cause);
}

TEST_F(RandomTest, Overlap) {
  std::array<int64_t, 8> seen{};
  for (uint32_t seed = 1; seed <= kTraces && !HasFailure(); seed += RandomTraces::kAtOnce) {
    SCOPED_TRACE("seeds from " + std::to_string(seed));
    const RandomTraces traces(seed, false);
    const Window window = Reference::WindowOf(traces.all);
    const auto overlap = AnalyzeOverlap(Load(traces.all));
    ASSERT_TRUE(overlap.ok()) << overlap.error().message;
    std::map<int64_t, std::array<int64_t, 8>> expected;
    for (const TestOp& each : traces.all.ops) expected[each.gpu];
    for (auto& [gpu, ns] : expected) {
      for (int64_t now = window.begin; now < window.end; ++now) {
        size_t state = 0;
        for (const TestOp& op : traces.all.ops) {
          if (op.gpu != gpu || now < op.start || now >= op.end) continue;
          state |= op.is_copy ? 2 : op.name.substr(0, 4) == "nccl" ? 4 : 1;
        }
        ++ns[state];
        ++seen[state];
      }
    }
    ASSERT_EQ(overlap.value().gpus.size(), expected.size());
    for (const OverlapSweep::Gpu& gpu : overlap.value().gpus) EXPECT_EQ(gpu.ns, expected[gpu.gpu]);
  }
  for (const int64_t ns : seen) EXPECT_GT(ns, 0);
}

std::vector<PathReference::Piece> PiecesOf(const CriticalPath& path, const PathGraph::Path& found) {
  std::vector<PathReference::Piece> pieces;
  for (const PathGraph::Piece& piece : found.pieces) {
    PathReference::Piece& one = pieces.emplace_back();
    one.kind = piece.kind;
    one.begin = piece.begin;
    one.end = piece.end;
    if (piece.op != kNoNode) one.op = path.op_ids[piece.op];
    if (piece.thread != kNoThread) {
      one.pid = path.threads.threads()[piece.thread].pid;
      one.tid = path.threads.threads()[piece.thread].tid;
    }
    if (piece.call != kNoNode) one.call = path.names.text(path.call_names[piece.call]);
  }
  return pieces;
}

std::string Text(const std::vector<PathReference::Piece>& pieces) {
  std::string text;
  for (const PathReference::Piece& piece : pieces) {
    text += "[" + std::to_string(piece.begin) + "," + std::to_string(piece.end) + ") kind " +
            std::to_string(static_cast<int>(piece.kind)) + " op " + std::to_string(piece.op) +
            " thread " + std::to_string(piece.tid) + " " + piece.call + "\n";
  }
  return text;
}

TEST_F(RandomTest, CriticalPath) {
  std::map<PathGraph::PieceKind, int64_t> seen;
  int64_t slack = 0;
  for (uint32_t seed = 1; seed <= kTraces && !HasFailure(); seed += RandomTraces::kAtOnce) {
    const RandomTraces traces(seed, false);
    const Window window = Reference::WindowOf(traces.all);
    const auto found = AnalyzeCriticalPath(Load(traces.all), kTestClockError);
    ASSERT_TRUE(found.ok()) << found.error().message;
    const CriticalPath& path = found.value();
    const PathGraph& graph = path.graph;
    ASSERT_EQ(graph.ops(), traces.all.ops.size());
    int64_t whole = 0;
    for (const PathGraph::Piece& piece : graph.path().pieces) whole += piece.end - piece.begin;
    EXPECT_EQ(whole, window.length());
    for (const uint32_t op : graph.path().ops) EXPECT_EQ(graph.Slack(op), 0);

    for (int64_t i = 0; i < RandomTraces::kAtOnce; ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed + i));
      const PathReference reference(traces.each[static_cast<size_t>(i)], window, kTestClockError);
      for (uint32_t op = 0; op < graph.ops(); ++op) {
        if (path.op_ids[op] / 1000 != i) continue;
        EXPECT_EQ(graph.Slack(op), reference.Slack(path.op_ids[op]))
            << "operation " << path.op_ids[op];
        slack += graph.Slack(op);
      }
      const uint32_t last = graph.LastNode([&](uint32_t op, uint32_t thread) {
        return op != kNoNode ? path.op_ids[op] / 1000 == i
                             : path.threads.threads()[thread].pid / 10 == i;
      });
      const auto pieces = PiecesOf(path, graph.PathTo(last));
      EXPECT_EQ(Text(pieces), Text(reference.Path()));
      int64_t at = window.begin;
      for (const PathReference::Piece& piece : pieces) {
        EXPECT_EQ(piece.begin, at);
        at = piece.end;
        seen[piece.kind] += piece.end - piece.begin;
      }
    }
  }
  using Kind = PathGraph::PieceKind;
  for (const Kind kind : {Kind::kOp, Kind::kHost, Kind::kLaunchLatency, Kind::kOrderLatency,
                          Kind::kSyncLatency, Kind::kBlocked, Kind::kStart})
    EXPECT_GT(seen[kind], kTraces / 4) << static_cast<int>(kind);
  EXPECT_GT(slack, kTraces);
}

}  // namespace
}  // namespace rochound::analysis
