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

constexpr const char* kOutside = "outside HIP";

constexpr uint64_t kMostPieces = 10'000;  // that are listed one by one, even if all are asked for

constexpr size_t kNoCall = SIZE_MAX;

// A piece of the path as it is listed: time of the host is cut into calls and what is between them.
struct Part {
  int64_t begin = 0, end = 0;
  uint32_t piece = 0;        // of the path
  size_t call = kNoCall;     // that a thread was in, of HostThreads
  uint32_t range = kNoName;  // the range that it was in outside of calls

  int64_t ns() const { return end - begin; }
};

struct Parts {
  std::vector<Part> parts;  // in order
  std::vector<std::string> ranges;
};

Result<Parts> CutPath(Connection& connection, const CriticalPath& path) {
  Parts cut;
  std::vector<HostTime> outside;
  const std::vector<Piece>& pieces = path.graph.path().pieces;
  for (uint32_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.kind != PieceKind::kHost) {
      cut.parts.push_back({.begin = piece.begin, .end = piece.end, .piece = i});
      continue;
    }
    int64_t since = piece.begin;
    const auto between = [&](int64_t until) {
      if (until > since) outside.push_back({.thread = piece.thread, .begin = since, .end = until});
      since = until;
    };
    path.threads.Overlaps(piece.thread, piece.begin, piece.end, [&](size_t call, int64_t ns) {
      const int64_t begin = std::max(path.threads.start(call), piece.begin);
      between(begin);
      cut.parts.push_back({.begin = begin, .end = begin + ns, .piece = i, .call = call});
      since = begin + ns;
    });
    between(piece.end);
  }
  ROCHOUND_TRY(HostRanges ranges,
               CutByRanges(connection, path.names, path.threads, std::move(outside)));
  cut.ranges = std::move(ranges.texts);
  for (const HostTime& time : ranges.times) {
    const auto piece =
        std::upper_bound(pieces.begin(), pieces.end(), time.begin,
                         [](int64_t begin, const Piece& one) { return begin < one.begin; });
    cut.parts.push_back({.begin = time.begin,
                         .end = time.end,
                         .piece = static_cast<uint32_t>(piece - pieces.begin() - 1),
                         .range = time.range});
  }
  std::sort(cut.parts.begin(), cut.parts.end(),
            [](const Part& a, const Part& b) { return a.begin < b.begin; });
  // A submission ends a piece of the path, but not what the thread was doing.
  const auto goes_on = [&](const Part& a, const Part& b) {
    const Piece &before = pieces[a.piece], &after = pieces[b.piece];
    return a.end == b.begin &&  // otherwise something between them was not recorded
           before.kind == PieceKind::kHost && after.kind == PieceKind::kHost &&
           before.thread == after.thread && a.call == b.call && a.range == b.range;
  };
  size_t kept = 0;
  for (size_t i = 1; i < cut.parts.size(); ++i) {
    if (goes_on(cut.parts[kept], cut.parts[i]))
      cut.parts[kept].end = cut.parts[i].end;
    else
      cut.parts[++kept] = cut.parts[i];
  }
  if (!cut.parts.empty()) cut.parts.resize(kept + 1);
  return cut;
}

// What a part is, and the name that it is listed by.
std::pair<std::string, std::string> Describe(const CriticalPath& path, const Parts& cut,
                                             const Part& part) {
  const Piece& piece = path.graph.path().pieces[part.piece];
  const auto op_name = [&] { return path.names.text(path.op_names[piece.op]); };
  const auto call_name = [&] { return path.names.text(path.call_names[piece.call]); };
  const auto& functions = piece.op != kNoNode ? path.op_host_functions : path.call_host_functions;
  const auto function = functions.find(piece.op != kNoNode ? piece.op : piece.call);
  const bool after_function = function != functions.end();
  const auto host_function = [&] {
    return std::pair<std::string, std::string>("host functions", path.names.text(function->second));
  };
  switch (piece.kind) {
    case PieceKind::kOp:
      if (path.op_waits[piece.op]) return {"wait for a value", op_name()};
      return {KindOfOp(path.names.text(path.op_types[piece.op])), op_name()};
    case PieceKind::kHost:
      if (part.call != kNoCall)
        return {"host calls", path.names.text(path.threads.name(part.call))};
      return {kOutside, part.range == kNoName ? "" : cut.ranges[part.range]};
    case PieceKind::kLaunchLatency:
      if (after_function) return host_function();
      return {"launch latency", op_name()};
    case PieceKind::kOrderLatency:
      if (after_function) return host_function();
      return {"start after another operation", op_name()};
    case PieceKind::kSyncLatency:
      if (after_function) return host_function();
      return {"return from waiting", call_name()};
    case PieceKind::kBlocked:
      if (path.call_names[piece.call] == kNoName) return {kOutside, "wait for threads"};
      return {"host calls", call_name()};
    case PieceKind::kUnknown:
      return {"before work without a known launch", op_name()};
    case PieceKind::kStart:
      return {path.main_threads[piece.thread] == piece.thread ? "start of a process"
                                                              : "start of a thread",
              ""};
  }
  return {};
}

}  // namespace

Result<CriticalPath> AnalyzeCriticalPath(Connection& connection, int64_t clock_error, bool keep) {
  CriticalPath path;
  ROCHOUND_TRY(path.names, Names::Load(connection));
  ROCHOUND_TRY(path.window, LoadWindow(connection, path.names));
  ROCHOUND_TRY(path.threads, LoadHostThreads(connection, path.names));
  ROCHOUND_TRY(const std::vector<HostProcess> processes, LoadHostProcesses(connection));
  PathGraph graph(path.window, clock_error);

  uint32_t queue = 0;
  std::pair<int64_t, int64_t> last_queue;
  ThreadOrder threads = FindThreadOrder(path.threads, processes);
  for (uint32_t i = 0; i < path.threads.threads().size(); ++i)
    graph.AddThread(threads.begins[i], path.threads.threads()[i].end);
  path.main_threads = std::move(threads.main_of);
  ROCHOUND_CHECK(
      ForEachQueuedOp(connection, path.names, path.threads, OpOrder::kQueue,
                      [&](const QueuedOp& op, uint32_t type) {
                        if (!path.op_ids.empty() && last_queue != std::pair(op.gpu, op.queue))
                          ++queue;
                        last_queue = {op.gpu, op.queue};
                        const uint32_t number = graph.AddOp(queue, op.start, op.end);
                        path.op_ids.push_back(op.id);
                        path.op_names.push_back(op.name);
                        path.op_types.push_back(type);
                        if (op.has_launch && op.thread != kNoThread)
                          graph.AddSubmit(op.thread, std::max(op.submit, op.launch), number);
                      }));
  path.op_waits.resize(path.op_ids.size());
  const OpIndex index(path.op_ids);
  const auto wait = [&](const Step& step, const std::vector<Op>& before) {
    if (step.kind == StepKind::kOp) {
      const uint32_t op = index.Find(step.op.id);
      if (op == kNoNode) return;
      if (step.waits_for != 0) path.op_waits[op] = true;
      if (step.host_function != kNoName) path.op_host_functions.emplace(op, step.host_function);
      for (const Op& one : before)
        if (const uint32_t other = index.Find(one.id); other != kNoNode)
          graph.AddDependency(op, other);
      return;
    }
    const uint32_t thread = path.threads.Find(step.pid, step.tid);
    if (thread == kNoThread) return;
    const uint32_t call = graph.AddBlocking(thread, step.start, step.end);
    path.call_names.push_back(step.name);
    if (step.host_function != kNoName) path.call_host_functions.emplace(call, step.host_function);
    for (const Op& one : before)
      if (const uint32_t other = index.Find(one.id); other != kNoNode)
        graph.AddBlockingFor(call, other);
  };
  const auto write = [&](const Op& waiting, const Op& writing) {
    const uint32_t op = index.Find(waiting.id), other = index.Find(writing.id);
    if (op != kNoNode && other != kNoNode) graph.AddValue(op, other);
  };
  StreamOrder order(wait, write, clock_error);
  ROCHOUND_CHECK(ForEachStep(connection, path.names, path.threads, true,
                             [&](const Step& step) { order.Apply(step); }));
  for (const ThreadOrder::Start& one : threads.starts) graph.AddStart(one.thread, one.by, one.time);
  for (const ThreadOrder::After& one : threads.afters) graph.AddStartAfter(one.thread, one.before);
  for (const ThreadOrder::Join& one : threads.joins) {
    const uint32_t call = graph.AddBlocking(one.thread, one.begin, one.end);
    path.call_names.push_back(kNoName);
    for (const uint32_t thread : one.joined) graph.AddBlockingForThread(call, thread);
  }
  if (keep)
    graph.SolveAndKeep();
  else
    graph.Solve();
  path.graph = std::move(graph);
  return path;
}

Result<Answer> AskCriticalPath(store::TraceDatabase& trace, const AskOptions& options) {
  ROCHOUND_TRY(const CriticalPath path, AnalyzeCriticalPath(trace.connection()));
  ROCHOUND_TRY(const Parts cut, CutPath(trace.connection(), path));
  const PathGraph& graph = path.graph;
  const int64_t wall = path.window.length();
  Answer answer;
  answer.notes = {
      "The path is the chain of what was waited for, back from the last event; its parts add up to "
      "the whole time.",
      "Slack is how much later a kernel could have ended without the trace ending later.",
      "Outside HIP is the program's own time, named by the range that it was in.",
      "What threads wait for among themselves is not recorded: a thread begins with its first "
      "event, and its starter waits for it if it made no call meanwhile."};

  std::map<std::string, Share> parts, calls;
  std::map<uint32_t, Share> kernels;
  for (const Part& part : cut.parts) {
    const Piece& piece = graph.path().pieces[part.piece];
    const auto [what, name] = Describe(path, cut, part);
    parts[what].Add(part.ns());
    if (piece.kind == PieceKind::kOp) {
      kernels[path.op_names[piece.op]].ns += part.ns();
    } else if (what == kOutside) {
      calls[name.empty() ? kOutside : std::string(kOutside) + ": " + name].Add(part.ns());
    } else if (piece.kind == PieceKind::kHost || piece.kind == PieceKind::kBlocked ||
               piece.kind == PieceKind::kSyncLatency || what == "host functions") {
      calls[name].Add(part.ns());
    }
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

  TableBuilder host("calls", "Host calls and the program's own time on the path",
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

  const auto row = [&](const Part& part) -> std::vector<Value> {
    auto [what, name] = Describe(path, cut, part);
    return {part.begin - path.window.begin, part.ns(), std::move(what), std::move(name)};
  };
  std::vector<uint32_t> longest(cut.parts.size());
  std::iota(longest.begin(), longest.end(), 0);
  std::stable_sort(longest.begin(), longest.end(),
                   [&](uint32_t a, uint32_t b) { return cut.parts[a].ns() > cut.parts[b].ns(); });
  const uint64_t limit = options.limit == 0 ? kMostPieces : options.limit;
  TableBuilder pieces("longest", "Longest pieces of the path",
                      {"#at_ns", "#piece_ns", "what", "name"}, limit);
  TableBuilder in_order("path", "The path, first to last", {"#at_ns", "#piece_ns", "what", "name"},
                        limit);
  for (size_t i = 0; i < longest.size(); ++i) {
    const bool wanted = i < limit;
    pieces.Row(wanted ? row(cut.parts[longest[i]]) : std::vector<Value>());
    in_order.Row(wanted ? row(cut.parts[i]) : std::vector<Value>());
  }
  answer.tables.push_back(pieces.Take());
  answer.tables.push_back(in_order.Take());
  return answer;
}

}  // namespace rochound::analysis
