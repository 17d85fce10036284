// SPDX-License-Identifier: MIT
#include "analysis/path_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace rochound::analysis {
namespace {

template <typename T>
void Free(std::vector<T>& vector) {
  std::vector<T>().swap(vector);
}

}  // namespace

uint32_t PathGraph::AddOp(uint32_t queue, int64_t start, int64_t end) {
  start_.push_back(start);
  end_.push_back(end);
  queue_.push_back(queue);
  return static_cast<uint32_t>(op_count_++);
}

uint32_t PathGraph::AddThread(int64_t end) {
  thread_end_.push_back(end);
  return static_cast<uint32_t>(thread_end_.size() - 1);
}

void PathGraph::AddSubmit(uint32_t thread, int64_t time, uint32_t op) {
  points_.push_back({.time = std::clamp(time, window_.begin, std::max(window_.begin, start_[op])),
                     .thread = thread,
                     .sequence = op,
                     .what = op,
                     .kind = Point::kSubmit});
}

void PathGraph::AddDependency(uint32_t op, uint32_t before) { edges_.push_back({op, before}); }

uint32_t PathGraph::AddBlocking(uint32_t thread, int64_t start, int64_t end) {
  end = std::max(start, end);
  const auto call = static_cast<uint32_t>(calls_.size());
  calls_.push_back({thread, start, end});
  points_.push_back({.time = start,
                     .thread = thread,
                     .sequence = 2 * call,
                     .what = call,
                     .kind = Point::kBlockBegin});
  points_.push_back({.time = end,
                     .thread = thread,
                     .sequence = 2 * call + 1,
                     .what = call,
                     .kind = Point::kBlockEnd});
  return call;
}

void PathGraph::AddBlockingFor(uint32_t call, uint32_t op) { call_edges_.push_back({call, op}); }

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

void PathGraph::MakeStretches() {
  // Of points at one time those of blocking calls come first, in the order of the calls.
  std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return std::tuple(a.thread, a.time, a.kind == Point::kSubmit, a.sequence) <
           std::tuple(b.thread, b.time, b.kind == Point::kSubmit, b.sequence);
  });
  stretch_.assign(op_count_, kNoNode);
  size_t at = 0;
  std::vector<uint32_t> behind(calls_.size(), kNoNode);
  for (uint32_t thread = 0; thread < thread_end_.size(); ++thread) {
    int64_t begin = window_.begin;
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
    for (; at < points_.size() && points_[at].thread == thread; ++at) {
      const Point& point = points_[at];
      if (point.kind == Point::kBlockEnd) {
        begin = point.time;
        call = point.what;
        continue;
      }
      const uint32_t node = add(point.time);
      if (point.kind == Point::kSubmit) stretch_[point.what] = node;
    }
    add(thread_end_[thread]);
  }
  Free(points_);
  for (Edge& edge : call_edges_) edge.node = behind[edge.node];
}

void PathGraph::SortEdges() {
  for (std::vector<Edge>* edges : {&edges_, &call_edges_}) {
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
  if (stretch > 0 && stretch_thread_[stretch - 1] == stretch_thread_[stretch])
    visit(node - 1, end_[node - 1]);
  if (stretch_call_[stretch] == kNoNode) return;
  edge(call_edges_, [&](uint32_t op) {
    if (start_[op] < start_[node]) visit(op, std::min(end_[op], start_[node]));
  });
}

void PathGraph::Order() {
  order_.resize(start_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return Before(a, b); });
}

void PathGraph::Solve() {
  FollowQueues();
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
    ForBefore(node, [&](uint32_t before, int64_t end) {
      slack_[before] = std::min(slack_[before], slack_[node] + bound - end);
    });
  }
  path_ = PathTo(LastNode([](uint32_t, uint32_t) { return true; }));
  Free(order_);
  Free(edges_);
  Free(call_edges_);
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
      add({.kind = before < op_count_ ? PieceKind::kSyncLatency : PieceKind::kBlocked,
           .begin = from,
           .end = start_[node],
           .thread = thread,
           .call = stretch_call_[stretch]});
    }
    until = from;
    node = before;
  }
  std::reverse(path.pieces.begin(), path.pieces.end());
  std::reverse(path.ops.begin(), path.ops.end());
  return path;
}

}  // namespace rochound::analysis
