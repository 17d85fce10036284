// SPDX-License-Identifier: MIT
#include "analysis/critical_path.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/table_builder.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Connection;
using PieceKind = PathGraph::PieceKind;
using Piece = PathGraph::Piece;

// Finds operations by their ids.
class OpIndex {
 public:
  explicit OpIndex(const std::vector<int64_t>& ids) : ids_(ids), order_(ids.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(),
              [&](uint32_t a, uint32_t b) { return std::tie(ids_[a], a) < std::tie(ids_[b], b); });
  }
  uint32_t Find(int64_t id) const {
    const auto found = std::lower_bound(order_.begin(), order_.end(), id,
                                        [&](uint32_t a, int64_t b) { return ids_[a] < b; });
    return found != order_.end() && ids_[*found] == id ? *found : kNoNode;
  }

 private:
  const std::vector<int64_t>& ids_;
  std::vector<uint32_t> order_;
};

std::string KindOfOp(const std::string& type) {
  if (type == "KernelExecution") return "kernels";
  if (type.substr(0, 4) == "Copy") return "copies";
  if (type.substr(0, 4) == "Fill") return "fills";
  return type.empty() ? "other operations" : type;
}

struct Share {
  int64_t ns = 0, pieces = 0;
  void Add(int64_t more) {
    ns += more;
    ++pieces;
  }
};

// Sorted by time, longest first.
template <typename Map>
std::vector<std::pair<typename Map::key_type, Share>> Sorted(const Map& map) {
  std::vector<std::pair<typename Map::key_type, Share>> rows(map.begin(), map.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  return rows;
}

constexpr const char* kProgram = "program";

constexpr uint64_t kMostPieces = 10'000;  // that are told one by one, even if all are asked for

// What a piece is, and the name that it is told by.
std::pair<std::string, std::string> Describe(const CriticalPath& path, const Piece& piece) {
  const auto op_name = [&] { return path.names.text(path.op_names[piece.op]); };
  const auto call_name = [&] { return path.names.text(path.call_names[piece.call]); };
  switch (piece.kind) {
    case PieceKind::kOp:
      return {KindOfOp(path.names.text(path.op_types[piece.op])), op_name()};
    case PieceKind::kHost: {
      const uint32_t call = path.threads.MainCall(piece.thread, piece.begin, piece.end);
      return {"host", call == kNoName ? kProgram : path.names.text(call)};
    }
    case PieceKind::kLaunchLatency:
      return {"launch latency", op_name()};
    case PieceKind::kOrderLatency:
      return {"start after another operation", op_name()};
    case PieceKind::kSyncLatency:
      return {"return from waiting", call_name()};
    case PieceKind::kBlocked:
      return {"host calls", call_name()};
    case PieceKind::kUnknown:
      return {"before work without a known launch", op_name()};
  }
  return {};
}

}  // namespace

Result<CriticalPath> AnalyzeCriticalPath(Connection& connection) {
  CriticalPath path;
  ROCHOUND_TRY(path.names, Names::Load(connection));
  ROCHOUND_TRY(path.window, LoadWindow(connection, path.names));
  ROCHOUND_TRY(path.threads, LoadHostThreads(connection, path.names));
  PathGraph graph(path.window);
  for (const HostThread& thread : path.threads.threads()) graph.AddThread(thread.end);

  uint32_t queue = 0;
  std::pair<int64_t, int64_t> last_queue;
  ROCHOUND_CHECK(
      ForEachQueuedOp(connection, path.names, path.threads, [&](const QueuedOp& op, uint32_t type) {
        if (!path.op_ids.empty() && last_queue != std::pair(op.gpu, op.queue)) ++queue;
        last_queue = {op.gpu, op.queue};
        const uint32_t number = graph.AddOp(queue, op.start, op.end);
        path.op_ids.push_back(op.id);
        path.op_names.push_back(op.name);
        path.op_types.push_back(type);
        if (op.has_launch && op.thread != kNoThread)
          graph.AddSubmit(op.thread, std::max(op.submit, op.launch), number);
      }));
  const OpIndex index(path.op_ids);
  StreamOrder order([&](const Step& step, const std::vector<Op>& before) {
    if (step.kind == StepKind::kOp) {
      const uint32_t op = index.Find(step.op.id);
      for (const Op& one : before)
        if (const uint32_t other = index.Find(one.id); op != kNoNode && other != kNoNode)
          graph.AddDependency(op, other);
      return;
    }
    const uint32_t thread = path.threads.Find(step.pid, step.tid);
    if (thread == kNoThread) return;
    const uint32_t call = graph.AddBlocking(thread, step.start, step.end);
    path.call_names.push_back(step.name);
    for (const Op& one : before)
      if (const uint32_t other = index.Find(one.id); other != kNoNode)
        graph.AddBlockingFor(call, other);
  });
  ROCHOUND_CHECK(ForEachStep(connection, path.names, path.threads, true,
                             [&](const Step& step) { order.Apply(step); }));
  graph.Solve();
  path.graph = std::move(graph);
  return path;
}

Result<Answer> AskCriticalPath(store::TraceDatabase& trace, const AskOptions& options) {
  ROCHOUND_TRY(const CriticalPath path, AnalyzeCriticalPath(trace.connection()));
  const PathGraph& graph = path.graph;
  const int64_t wall = path.window.length();
  Answer answer;
  answer.notes = {
      "The path is the chain of what was waited for, back from the last event; its parts add up to "
      "the whole time.",
      "Slack is how much later a kernel could have ended without the trace ending later.",
      "What threads and processes wait for among themselves is not known."};

  std::map<std::string, Share> parts, calls;
  std::map<uint32_t, Share> kernels;
  for (const Piece& piece : graph.path().pieces) {
    const int64_t ns = piece.end - piece.begin;
    if (piece.kind == PieceKind::kHost) {
      int64_t in_calls = 0;
      path.threads.Overlaps(piece.thread, piece.begin, piece.end, [&](size_t call, int64_t part) {
        in_calls += part;
        calls[path.names.text(path.threads.name(call))].Add(part);
      });
      if (in_calls > 0) parts["host calls"].Add(in_calls);
      if (ns > in_calls) {
        parts[kProgram].Add(ns - in_calls);
        calls[kProgram].Add(ns - in_calls);
      }
      continue;
    }
    const auto [what, name] = Describe(path, piece);
    parts[what].Add(ns);
    if (piece.kind == PieceKind::kBlocked || piece.kind == PieceKind::kSyncLatency)
      calls[name].Add(ns);
    if (piece.kind == PieceKind::kOp) kernels[path.op_names[piece.op]].ns += ns;
  }
  for (const uint32_t op : graph.path().ops) ++kernels[path.op_names[op]].pieces;

  TableBuilder attribution("attribution", "Where the time went, along the path",
                           {"what", "#pieces", "#total_ns", "#share_percent"}, 0);
  for (const auto& [what, share] : Sorted(parts))
    attribution.Row({what, share.pieces, share.ns, Percent(share.ns, wall)});
  answer.tables.push_back(attribution.Take());

  // Slack by name: of all operations, sorted by name and slack.
  std::vector<uint32_t> order(graph.ops());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(path.op_names[a], graph.Slack(a)) <
           std::tuple(path.op_names[b], graph.Slack(b));
  });
  struct Slack {
    uint32_t name;
    int64_t count, on_path, path_ns, least, median;
  };
  std::vector<Slack> slacks;
  for (size_t first = 0; first < order.size();) {
    const uint32_t name = path.op_names[order[first]];
    size_t last = first;
    while (last < order.size() && path.op_names[order[last]] == name) ++last;
    const Share share = kernels[name];
    slacks.push_back({.name = name,
                      .count = static_cast<int64_t>(last - first),
                      .on_path = share.pieces,
                      .path_ns = share.ns,
                      .least = graph.Slack(order[first]),
                      .median = graph.Slack(order[first + (last - first - 1) / 2])});
    first = last;
  }
  std::sort(slacks.begin(), slacks.end(), [&](const Slack& a, const Slack& b) {
    if (a.path_ns != b.path_ns) return a.path_ns > b.path_ns;
    return path.names.text(a.name) < path.names.text(b.name);
  });
  TableBuilder critical("kernels", "Kernels and copies on the path",
                        {"name", "#on_path", "#path_ns", "#share_percent", "#min_slack_ns"},
                        options.limit);
  for (const Slack& one : slacks) {
    if (one.on_path == 0) continue;
    critical.Row({path.names.text(one.name), one.on_path, one.path_ns, Percent(one.path_ns, wall),
                  one.least});
  }
  answer.tables.push_back(critical.Take());

  TableBuilder host("calls", "Host calls on the path",
                    {"call", "#pieces", "#total_ns", "#share_percent"}, options.limit);
  for (const auto& [call, share] : Sorted(calls))
    host.Row({call, share.pieces, share.ns, Percent(share.ns, wall)});
  answer.tables.push_back(host.Take());

  std::sort(slacks.begin(), slacks.end(), [&](const Slack& a, const Slack& b) {
    if (a.least != b.least) return a.least < b.least;
    if (a.median != b.median) return a.median < b.median;
    return path.names.text(a.name) < path.names.text(b.name);
  });
  TableBuilder slack("slack", "Slack by name, least first",
                     {"name", "#operations", "#on_path", "#min_slack_ns", "#median_slack_ns"},
                     options.limit);
  for (const Slack& one : slacks)
    slack.Row({path.names.text(one.name), one.count, one.on_path, one.least, one.median});
  answer.tables.push_back(slack.Take());

  const auto row = [&](const Piece& piece) -> std::vector<Value> {
    auto [what, name] = Describe(path, piece);
    return {piece.begin - path.window.begin, piece.end - piece.begin, std::move(what),
            std::move(name)};
  };
  std::vector<uint32_t> longest(graph.path().pieces.size());
  std::iota(longest.begin(), longest.end(), 0);
  const auto length = [&](uint32_t i) {
    return graph.path().pieces[i].end - graph.path().pieces[i].begin;
  };
  std::stable_sort(longest.begin(), longest.end(),
                   [&](uint32_t a, uint32_t b) { return length(a) > length(b); });
  const uint64_t limit = options.limit == 0 ? kMostPieces : options.limit;
  TableBuilder pieces("longest", "Longest pieces of the path",
                      {"#at_ns", "#piece_ns", "what", "name"}, limit);
  TableBuilder in_order("path", "The path, first to last", {"#at_ns", "#piece_ns", "what", "name"},
                        limit);
  for (size_t i = 0; i < longest.size(); ++i) {
    const bool wanted = i < limit;
    pieces.Row(wanted ? row(graph.path().pieces[longest[i]]) : std::vector<Value>());
    in_order.Row(wanted ? row(graph.path().pieces[i]) : std::vector<Value>());
  }
  answer.tables.push_back(pieces.Take());
  answer.tables.push_back(in_order.Take());
  return answer;
}

}  // namespace rochound::analysis
