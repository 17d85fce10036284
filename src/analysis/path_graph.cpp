// SPDX-License-Identifier: MIT
#include "analysis/path_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/check.h"

namespace rochound::analysis {
namespace {

template <typename T>
void Free(std::vector<T>& vector) {
  std::vector<T>().swap(vector);
}

}  // namespace

uint32_t PathGraph::AddOp(uint32_t queue, int64_t start, int64_t end) {
  ROCHOUND_DCHECK(start_.size() == op_count_ && queue_.size() == op_count_);
  start_.push_back(start);
  end_.push_back(end);
  queue_.push_back(queue);
  return static_cast<uint32_t>(op_count_++);
}

uint32_t PathGraph::AddThread(int64_t begin, int64_t end) {
  thread_begin_.push_back(std::clamp(begin, window_.begin, std::max(window_.begin, end)));
  thread_end_.push_back(end);
  return static_cast<uint32_t>(thread_end_.size() - 1);
}

void PathGraph::AddStart(uint32_t thread, uint32_t by, int64_t time) {
  ROCHOUND_DCHECK(thread < thread_begin_.size() && by < thread_begin_.size());
  points_.push_back({.time = std::clamp(time, window_.begin, thread_begin_[thread]),
                     .thread = by,
                     .what = thread,
                     .kind = Point::kStart});
}

void PathGraph::AddStartAfter(uint32_t thread, uint32_t before) {
  ROCHOUND_DCHECK(thread < thread_end_.size() && before < thread_end_.size());
  after_edges_.push_back({thread, before});
}

void PathGraph::AddSubmit(uint32_t thread, int64_t time, uint32_t op) {
  ROCHOUND_DCHECK(thread < thread_end_.size() && op < op_count_);
  points_.push_back({.time = std::clamp(time, window_.begin, std::max(window_.begin, start_[op])),
                     .thread = thread,
                     .what = op,
                     .kind = Point::kSubmit});
}

void PathGraph::AddDependency(uint32_t op, uint32_t before) {
  ROCHOUND_DCHECK(op < op_count_ && before < op_count_);
  edges_.push_back({op, before});
}

void PathGraph::AddValue(uint32_t op, uint32_t writing) {
  ROCHOUND_DCHECK(op < op_count_ && writing < op_count_);
  value_edges_.push_back({op, writing});
}

uint32_t PathGraph::AddBlocking(uint32_t thread, int64_t start, int64_t end) {
  ROCHOUND_DCHECK(thread < thread_end_.size());
  calls_.push_back({thread, start, std::max(start, end)});
  return static_cast<uint32_t>(calls_.size() - 1);
}

void PathGraph::AddBlockingFor(uint32_t call, uint32_t op) {
  ROCHOUND_DCHECK(call < calls_.size() && op < op_count_);
  call_edges_.push_back({call, op});
}

void PathGraph::AddBlockingForThread(uint32_t call, uint32_t thread) {
  ROCHOUND_DCHECK(call < calls_.size() && thread < thread_end_.size());
  thread_edges_.push_back({call, thread});
}

// A node comes after everything that it may follow.
bool PathGraph::Before(uint32_t a, uint32_t b) const {
  return std::tuple(start_[a], end_[a], a < op_count_, a) <
         std::tuple(start_[b], end_[b], b < op_count_, b);
}

void PathGraph::FollowQueues() {
  ahead_.assign(op_count_, kNoNode);
  std::vector<uint32_t> running;  // a heap, the one that ends first on top
  const auto ends_later = [&](uint32_t a, uint32_t b) {
    return std::tuple(end_[a], start_[a], a) > std::tuple(end_[b], start_[b], b);
  };
  uint32_t latest = kNoNode;
  for (uint32_t op = 0; op < op_count_; ++op) {
    if (op > 0 && queue_[op] != queue_[op - 1]) {
      running.clear();
      latest = kNoNode;
    }
    ROCHOUND_DCHECK(op == 0 || queue_[op] != queue_[op - 1] || start_[op] >= start_[op - 1]);
    while (!running.empty() && end_[running.front()] <= start_[op]) {
      latest = running.front();
      std::pop_heap(running.begin(), running.end(), ends_later);
      running.pop_back();
    }
    ahead_[op] = latest;
    running.push_back(op);
    std::push_heap(running.begin(), running.end(), ends_later);
  }
  Free(queue_);
}

void PathGraph::WaitForValues() {
  std::sort(value_edges_.begin(), value_edges_.end(),
            [](const Edge& a, const Edge& b) { return a.node < b.node; });
  for (size_t first = 0; first < value_edges_.size();) {
    const uint32_t op = value_edges_[first].node;
    uint32_t last = kNoNode;
    for (; first < value_edges_.size() && value_edges_[first].node == op; ++first) {
      const uint32_t writing = value_edges_[first].before;
      if (end_[writing] > end_[op] + clock_error_) continue;  // it went on before that
      if (last == kNoNode || end_[writing] > end_[last]) last = writing;
    }
    // It was waiting until then.
    if (last == kNoNode || end_[last] <= start_[op]) continue;
    end_[op] = std::max(end_[op], end_[last]);
    start_[op] = end_[last];
    edges_.push_back({op, last});
  }
  Free(value_edges_);
}

void PathGraph::MakeStretches() {
  std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return std::tuple(a.thread, a.time, a.kind, a.what) <
           std::tuple(b.thread, b.time, b.kind, b.what);
  });
  std::vector<uint32_t> calls(calls_.size());
  std::iota(calls.begin(), calls.end(), 0);
  std::sort(calls.begin(), calls.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(calls_[a].thread, calls_[a].start, calls_[a].end, a) <
           std::tuple(calls_[b].thread, calls_[b].start, calls_[b].end, b);
  });
  const auto threads = static_cast<uint32_t>(thread_end_.size());
  stretch_.assign(op_count_, kNoNode);
  starter_.assign(threads, kNoNode);
  size_t at = 0, next_call = 0;
  std::vector<uint32_t> behind(calls_.size(), kNoNode), last_of(threads, kNoNode);
  for (uint32_t thread = 0; thread < threads; ++thread) {
    int64_t begin = thread_begin_[thread];
    uint32_t call = kNoNode;
    const auto add = [&](int64_t end) {
      start_.push_back(begin);
      end_.push_back(std::max(begin, end));
      stretch_thread_.push_back(thread);
      stretch_call_.push_back(call);
      const auto node = static_cast<uint32_t>(start_.size() - 1);
      if (call != kNoNode) behind[call] = node;
      call = kNoNode;
      begin = end_.back();
      return node;
    };
    // Everything up to this time; of what happens at one time calls come first.
    const auto add_points = [&](int64_t before) {
      for (; at < points_.size() && points_[at].thread == thread && points_[at].time < before;
           ++at) {
        const uint32_t node = add(points_[at].time);
        (points_[at].kind == Point::kSubmit ? stretch_ : starter_)[points_[at].what] = node;
      }
    };
    for (; next_call < calls.size() && calls_[calls[next_call]].thread == thread; ++next_call) {
      const Call& one = calls_[calls[next_call]];
      add_points(one.start);
      add(one.start);
      add_points(one.end);
      begin = std::max(begin, one.end);
      call = calls[next_call];
    }
    add_points(INT64_MAX);
    last_of[thread] = add(thread_end_[thread]);
  }
  ROCHOUND_DCHECK(at == points_.size() && next_call == calls.size());
  Free(points_);
  for (Edge& edge : call_edges_) edge.node = behind[edge.node];
  for (Edge& edge : thread_edges_) edge = {behind[edge.node], last_of[edge.before]};
  for (const Edge& edge : after_edges_) starter_[edge.node] = last_of[edge.before];
  Free(after_edges_);
}

void PathGraph::SortEdges() {
  for (std::vector<Edge>* edges : {&edges_, &call_edges_, &thread_edges_}) {
    std::sort(edges->begin(), edges->end(), [](const Edge& a, const Edge& b) {
      return std::tuple(a.node, a.before) < std::tuple(b.node, b.before);
    });
  }
}

template <typename Visit>
void PathGraph::ForBefore(uint32_t node, const Visit& visit) const {
  const auto edge = [&](const std::vector<Edge>& edges, const auto& each) {
    auto at = std::lower_bound(edges.begin(), edges.end(), node,
                               [](const Edge& a, uint32_t b) { return a.node < b; });
    for (; at != edges.end() && at->node == node; ++at) each(at->before);
  };
  if (node < op_count_) {
    const auto over = [&](uint32_t before) {
      if (before != kNoNode && end_[before] <= start_[node] && Before(before, node))
        visit(before, end_[before]);
    };
    over(stretch_[node]);
    over(ahead_[node]);
    edge(edges_, over);
    return;
  }
  const size_t stretch = node - op_count_;
  const uint32_t thread = stretch_thread_[stretch];
  const auto after_thread = [&](uint32_t before) {
    if (before != kNoNode && end_[before] <= start_[node] && Before(before, node))
      visit(before, end_[before]);
  };
  if (stretch > 0 && stretch_thread_[stretch - 1] == thread)
    visit(node - 1, end_[node - 1]);
  else
    after_thread(starter_[thread]);
  if (stretch_call_[stretch] == kNoNode) return;
  edge(call_edges_, [&](uint32_t op) {
    if (start_[op] < start_[node] && end_[op] <= start_[node] + clock_error_)
      visit(op, std::min(end_[op], start_[node]));
  });
  edge(thread_edges_, after_thread);
}

void PathGraph::Order() {
  order_.resize(start_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return Before(a, b); });
}

void PathGraph::Solve() {
  SolveAndKeep();
  FreeEdges();
}

void PathGraph::FreeEdges() {
  Free(order_);
  Free(edges_);
  Free(call_edges_);
  Free(thread_edges_);
}

void PathGraph::SolveAndKeep() {
  FollowQueues();
  WaitForValues();
  MakeStretches();
  SortEdges();
  Order();
  const size_t count = start_.size();
  bound_.assign(count, kNever);
  binding_.assign(count, kNoNode);
  slack_.resize(count);
  for (size_t node = 0; node < count; ++node) slack_[node] = window_.end - end_[node];
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    const uint32_t node = *at;
    int64_t& bound = bound_[node];
    uint32_t& binding = binding_[node];
    ForBefore(node, [&](uint32_t before, int64_t end) {
      if (end < bound || (end == bound && !Before(binding, before))) return;
      bound = end;
      binding = before;
    });
    // What decides when it starts is over by then, and comes before it: paths have an end.
    ROCHOUND_DCHECK(binding == kNoNode || (bound <= start_[node] && Before(binding, node)));
    ForBefore(node, [&](uint32_t before, int64_t end) {
      slack_[before] = std::min(slack_[before], slack_[node] + bound - end);
    });
  }
  path_ = PathTo(LastNode([](uint32_t, uint32_t) { return true; }));
}

void PathGraph::ForEachEdge(
    const std::function<void(uint32_t node, uint32_t before)>& visit) const {
  std::vector<uint32_t> befores;
  for (const uint32_t node : order_) {
    befores.clear();
    ForBefore(node, [&](uint32_t before, int64_t) { befores.push_back(before); });
    std::sort(befores.begin(), befores.end());
    befores.erase(std::unique(befores.begin(), befores.end()), befores.end());
    for (const uint32_t before : befores) visit(node, before);
  }
}

int64_t PathGraph::EndWith(const std::function<int64_t(uint32_t op)>& duration) const {
  std::vector<int64_t> later(start_.size());  // by node: its end
  int64_t last = window_.begin;
  for (const uint32_t node : order_) {
    int64_t bound = kNever;
    ForBefore(node,
              [&](uint32_t before, int64_t end) { bound = std::max(bound, end + later[before]); });
    int64_t start = start_[node];
    if (bound != kNever) start += bound - bound_[node];
    const int64_t end = start + (node < op_count_ ? duration(node) : end_[node] - start_[node]);
    later[node] = end - end_[node];
    last = std::max(last, end);
  }
  return last;
}

uint32_t PathGraph::LastNode(const std::function<bool(uint32_t op, uint32_t thread)>& among) const {
  uint32_t last = kNoNode;
  for (uint32_t node = 0; node < start_.size(); ++node) {
    if (last != kNoNode && end_[node] < end_[last]) continue;
    if (last != kNoNode && end_[node] == end_[last] && Before(node, last)) continue;
    const bool accepted = node < op_count_ ? among(node, kNoThread)
                                           : among(kNoNode, stretch_thread_[node - op_count_]);
    if (accepted) last = node;
  }
  return last;
}

PathGraph::Path PathGraph::PathTo(uint32_t node) const {
  Path path;
  const auto add = [&](const Piece& piece) {
    if (piece.end > piece.begin) path.pieces.push_back(piece);
  };
  int64_t until = node == kNoNode ? 0 : end_[node];
  while (node != kNoNode) {
    const uint32_t before = binding_[node];
    const int64_t from = before == kNoNode ? window_.begin : bound_[node];
    if (node < op_count_) {
      path.ops.push_back(node);
      add({.kind = PieceKind::kOp, .begin = start_[node], .end = until, .op = node});
      add({.kind = before == kNoNode    ? PieceKind::kUnknown
                   : before < op_count_ ? PieceKind::kOrderLatency
                                        : PieceKind::kLaunchLatency,
           .begin = from,
           .end = start_[node],
           .op = node});
    } else {
      const size_t stretch = node - op_count_;
      const uint32_t thread = stretch_thread_[stretch];
      add({.kind = PieceKind::kHost, .begin = start_[node], .end = until, .thread = thread});
      const bool is_first = stretch == 0 || stretch_thread_[stretch - 1] != thread;
      add({.kind = is_first             ? PieceKind::kStart
                   : before < op_count_ ? PieceKind::kSyncLatency
                                        : PieceKind::kBlocked,
           .begin = from,
           .end = start_[node],
           .thread = thread,
           .call = stretch_call_[stretch]});
    }
    until = from;
    node = before;
  }
  std::reverse(path.pieces.begin(), path.pieces.end());
  if (!window_.unrecorded.empty()) {
    std::vector<Piece> recorded;
    for (const Piece& piece : path.pieces) {
      window_.ForEachRecorded(piece.begin, piece.end, [&](int64_t begin, int64_t end) {
        Piece part = piece;
        part.begin = begin;
        part.end = end;
        recorded.push_back(part);
      });
    }
    path.pieces = std::move(recorded);
  }
  std::reverse(path.ops.begin(), path.ops.end());
  return path;
}

}  // namespace rochound::analysis
