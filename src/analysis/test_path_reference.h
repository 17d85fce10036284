// SPDX-License-Identifier: MIT
//
// The critical path of a TestTrace and its slack as path_graph.h defines them, found by trying: an
// operation is delayed until the trace ends later. For comparison in tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/path_graph.h"
#include "analysis/test_reference.h"

namespace rochound::analysis {

class PathReference {
 public:
  struct Piece {
    PathGraph::PieceKind kind{};
    int64_t begin = 0, end = 0;
    int64_t op = 0;            // id
    int64_t pid = 0, tid = 0;  // of host time
    std::string call{};        // a blocking one's name

    bool operator==(const Piece&) const = default;
  };

  // As part of a bigger trace with this window.
  PathReference(const TestTrace& trace, Window window, int64_t clock_error)
      : trace_(trace), reference_(trace, window, clock_error), clock_error_(clock_error) {
    AddOps();
    AddThreads();
    AddThreadEdges();
    AddEdges();
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return Rank(a) < Rank(b); });
  }

  // How much later the operation can end before the trace does.
  int64_t Slack(int64_t op_id) const {
    const size_t node = ops_.at(op_id);
    int64_t none = 0, some = reference_.window().end - nodes_[node].end + 1;
    while (none + 1 < some) {
      const int64_t middle = none + (some - none) / 2;
      (EndWhenDelayed(node, middle) > reference_.window().end ? some : none) = middle;
    }
    return none;
  }

  std::vector<Piece> Path() const {
    std::vector<Piece> pieces;
    if (order_.empty()) return pieces;
    size_t node = order_.front();
    for (const size_t each : order_)
      if (nodes_[each].end >= nodes_[node].end) node = each;
    int64_t until = nodes_[node].end;
    for (;;) {
      const Node& here = nodes_[node];
      const Edge* binding = nullptr;
      for (const Edge& edge : here.before) {
        if (binding == nullptr ||
            std::tuple(edge.end, Rank(edge.node)) > std::tuple(binding->end, Rank(binding->node)))
          binding = &edge;
      }
      const int64_t from = binding == nullptr ? reference_.window().begin : binding->end;
      const bool after_op = binding != nullptr && nodes_[binding->node].is_op;
      using Kind = PathGraph::PieceKind;
      Piece work, wait;
      if (here.is_op) {
        work = {.kind = Kind::kOp, .begin = here.start, .end = until, .op = here.id};
        wait = {.kind = binding == nullptr ? Kind::kUnknown
                        : after_op         ? Kind::kOrderLatency
                                           : Kind::kLaunchLatency,
                .begin = from,
                .end = here.start,
                .op = here.id};
      } else {
        work = {.kind = Kind::kHost,
                .begin = here.start,
                .end = until,
                .pid = here.pid,
                .tid = here.tid};
        wait = {.kind = here.is_first ? Kind::kStart
                        : after_op    ? Kind::kSyncLatency
                                      : Kind::kBlocked,
                .begin = from,
                .end = here.start,
                .pid = here.pid,
                .tid = here.tid,
                .call = here.call};
      }
      for (const Piece& piece : {work, wait})
        if (piece.end > piece.begin) pieces.push_back(piece);
      if (binding == nullptr) break;
      until = from;
      node = binding->node;
    }
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
  }

 private:
  struct Edge {
    size_t node;
    int64_t end;
  };
  struct Node {
    bool is_op = false;
    bool is_first = false;  // of its thread
    int64_t start = 0, end = 0;
    int64_t id = 0, pid = 0, tid = 0;
    std::string call{};  // that it begins after
    std::vector<Edge> before{};
  };
  using ThreadKey = std::pair<int64_t, int64_t>;  // pid, tid
  struct ThreadTimes {
    int64_t begin = 0, end = 0;
    std::vector<size_t> stretches{};
    std::map<ThreadKey, int64_t> starts{};  // others that it started, and when
  };
  struct Waiting {
    int64_t start = 0, end = 0;
    std::string name{};
    std::set<int64_t> ops{};
    std::set<ThreadKey> joined{};
  };

  std::tuple<int64_t, int64_t, bool, size_t> Rank(size_t node) const {
    return {nodes_[node].start, nodes_[node].end, nodes_[node].is_op, node};
  }

  void AddOps() {
    std::vector<const TestOp*> ops;
    for (const TestOp& op : trace_.ops) ops.push_back(&op);
    std::sort(ops.begin(), ops.end(), [](const TestOp* a, const TestOp* b) {
      return std::tuple(a->gpu, a->queue, a->start, a->end, a->id) <
             std::tuple(b->gpu, b->queue, b->start, b->end, b->id);
    });
    for (const TestOp* op : ops) {
      ops_[op->id] = nodes_.size();
      nodes_.push_back({.is_op = true, .start = op->start, .end = op->end, .id = op->id});
      order_.push_back(nodes_.size() - 1);
    }
  }

  // Calls of a thread that are not within others.
  std::vector<const TestCall*> OutermostOf(const ThreadKey& thread) const {
    std::vector<const TestCall*> calls;
    for (const TestCall& call : trace_.calls)
      if (std::pair(call.pid, call.tid) == thread && reference_.IsOutermost(call))
        calls.push_back(&call);
    std::sort(calls.begin(), calls.end(), [](const TestCall* a, const TestCall* b) {
      return std::tuple(a->start, -a->end, a->id) < std::tuple(b->start, -b->end, b->id);
    });
    return calls;
  }

  // When each thread began, and which one started it.
  void FindThreads() {
    for (const TestCall& call : trace_.calls) {
      if (call.domain == "rochound") continue;
      ThreadTimes& times =
          threads_.emplace(std::pair(call.pid, call.tid), ThreadTimes{call.start, call.end, {}, {}})
              .first->second;
      times.begin = std::min(times.begin, call.start);
      times.end = std::max(times.end, call.end);
    }
    std::map<int64_t, ThreadKey> main;  // by pid
    for (const auto& [thread, times] : threads_) {
      const auto [at, is_new] = main.emplace(thread.first, thread);
      if (threads_.count({thread.first, thread.first}) != 0)
        at->second = {thread.first, thread.first};
      else if (times.begin < threads_[at->second].begin)
        at->second = thread;
    }
    for (const auto& [thread, times] : threads_) {
      const ThreadKey by = main[thread.first];
      if (by == thread) continue;
      threads_[by].begin = std::min(threads_[by].begin, times.begin);
      int64_t time = times.begin;
      for (const TestCall* call : OutermostOf(by))
        if (call->start < times.begin && times.begin < call->end) time = call->start;
      threads_[by].starts[thread] = time;
    }
  }

  // Between two calls a thread may have waited for those that it started there.
  std::vector<Waiting> JoinsOf(const ThreadTimes& times, const ThreadKey& thread) const {
    std::vector<Waiting> joins;
    for (const auto& [child, time] : times.starts) {
      const int64_t from = threads_.at(child).begin;
      // Until the thread did something else.
      int64_t to = INT64_MAX;
      int64_t since = INT64_MIN;
      bool in_call = false;
      for (const TestCall* call : OutermostOf(thread)) {
        if (call->start < from && from < call->end) in_call = true;
        if (call->end <= from) since = std::max(since, call->end);
        if (call->end > from) to = std::min(to, call->start);
      }
      if (in_call) continue;
      bool is_last = true;  // of those that began at this time
      const int64_t gap_end = to;
      for (const auto& [other, when] : times.starts) {
        const int64_t begin = threads_.at(other).begin;
        if (begin > from && begin <= gap_end && !InCall(thread, begin)) to = std::min(to, begin);
        if (begin == from && other > child) is_last = false;
      }
      if (!is_last || to == INT64_MAX) continue;
      Waiting join{.start = from, .end = from};
      for (const auto& [other, when] : times.starts) {
        const ThreadTimes& its = threads_.at(other);
        // A call that took no time and ended where the thread began came before it.
        if (its.begin < since || its.begin > from || InCall(thread, its.begin)) continue;
        if (NextCall(thread, its.begin) != NextCall(thread, from)) continue;
        if (its.end <= from || its.end > to) continue;
        join.joined.insert(other);
        join.end = std::max(join.end, its.end);
      }
      if (!join.joined.empty() && join.end - from >= to - join.end) joins.push_back(join);
    }
    return joins;
  }
  bool InCall(const ThreadKey& thread, int64_t time) const {
    for (const TestCall* call : OutermostOf(thread))
      if (call->start < time && time < call->end) return true;
    return false;
  }
  // The id of the first call that ends after this time; 0: none does.
  int64_t NextCall(const ThreadKey& thread, int64_t time) const {
    for (const TestCall* call : OutermostOf(thread))
      if (call->end > time) return call->id;
    return 0;
  }

  void AddThreads() {
    FindThreads();
    for (auto& [thread, times] : threads_) {
      // time; what belongs to calls first and in order; then submissions, then starts
      using Key = std::tuple<int64_t, int, int64_t, int64_t, size_t, int>;
      struct What {
        const TestOp* op = nullptr;
        const Waiting* waiting = nullptr;
        const ThreadKey* started = nullptr;
      };
      std::map<Key, What> points;
      std::vector<Waiting> waiting = JoinsOf(times, thread);
      for (const TestCall& call : trace_.calls) {
        if (std::pair(call.pid, call.tid) != thread) continue;
        for (const Reference::Wait& wait : reference_.WaitsOf(call))
          waiting.push_back({wait.start, wait.end, call.name, wait.ops, {}});
      }
      std::stable_sort(waiting.begin(), waiting.end(), [](const Waiting& a, const Waiting& b) {
        return std::pair(a.start, a.end) < std::pair(b.start, b.end);
      });
      for (size_t i = 0; i < waiting.size(); ++i) {
        points[{waiting[i].start, 0, waiting[i].start, waiting[i].end, i, 0}] = {};
        points[{waiting[i].end, 0, waiting[i].start, waiting[i].end, i, 1}] = {nullptr,
                                                                               &waiting[i]};
      }
      for (const TestOp& op : trace_.ops) {
        const TestCall* const call = trace_.FindCall(op.call);
        if (call == nullptr || std::pair(call->pid, call->tid) != thread) continue;
        const int64_t submit = std::max(trace_.SubmitOf(op), call->start);
        const int64_t time = std::max(std::min(submit, op.start), reference_.window().begin);
        points[{time, 1, 0, 0, ops_[op.id], 0}] = {&op};
      }
      size_t number = 0;
      for (const auto& [other, time] : times.starts)
        points[{time, 2, 0, 0, number++, 0}] = {nullptr, nullptr, &other};
      Node stretch{.start = times.begin, .pid = thread.first, .tid = thread.second};
      const Waiting* behind = nullptr;
      const auto finish = [&](int64_t until) {
        stretch.end = std::max(stretch.start, until);
        stretch.is_first = times.stretches.empty();
        if (!stretch.is_first) stretch.before.push_back({nodes_.size() - 1, nodes_.back().end});
        if (behind != nullptr) {
          stretch.call = behind->name;
          for (const int64_t id : behind->ops) {
            const Node& op = nodes_[ops_[id]];
            if (op.start < stretch.start && op.end <= stretch.start + clock_error_)
              stretch.before.push_back({ops_[id], std::min(op.end, stretch.start)});
          }
          joined_[nodes_.size()] = behind->joined;
        }
        behind = nullptr;
        times.stretches.push_back(nodes_.size());
        nodes_.push_back(stretch);
        order_.push_back(nodes_.size() - 1);
        stretch.start = stretch.end;
        stretch.before.clear();
        stretch.call.clear();
      };
      for (const auto& [key, what] : points) {
        if (what.waiting != nullptr) {
          stretch.start = std::max(stretch.start, std::get<0>(key));
          behind = what.waiting;
          continue;
        }
        finish(std::get<0>(key));
        if (what.op != nullptr) submitted_[what.op->id] = nodes_.size() - 1;
        if (what.started != nullptr) started_[*what.started] = nodes_.size() - 1;
      }
      finish(times.end);
    }
  }

  void AddThreadEdges() {
    const auto follow = [&](size_t node, size_t before) {
      if (nodes_[before].end <= nodes_[node].start && Rank(before) < Rank(node))
        nodes_[node].before.push_back({before, nodes_[before].end});
    };
    for (const auto& [thread, before] : started_)
      follow(threads_[thread].stretches.front(), before);
    for (const auto& [node, joined] : joined_)
      for (const ThreadKey& thread : joined) follow(node, threads_[thread].stretches.back());
  }

  void AddEdges() {
    for (const TestOp& op : trace_.ops) {
      const size_t node = ops_[op.id];
      std::set<size_t> before;
      const TestOp* ahead = nullptr;
      for (const TestOp& other : trace_.ops) {
        if (other.gpu != op.gpu || other.queue != op.queue || other.end > op.start) continue;
        if (std::tuple(other.start, other.end, other.id) >= std::tuple(op.start, op.end, op.id))
          continue;
        if (ahead == nullptr || std::tuple(ahead->end, ahead->start, ops_[ahead->id]) <
                                    std::tuple(other.end, other.start, ops_[other.id]))
          ahead = &other;
      }
      if (ahead != nullptr) before.insert(ops_[ahead->id]);
      if (submitted_.count(op.id) != 0) before.insert(submitted_[op.id]);
      for (const int64_t id : reference_.BeforeOp(op)) before.insert(ops_[id]);
      for (const size_t other : before)
        if (nodes_[other].end <= op.start && Rank(other) < Rank(node))
          nodes_[node].before.push_back({other, nodes_[other].end});
    }
  }

  int64_t EndWhenDelayed(size_t delayed, int64_t delay) const {
    std::vector<int64_t> late(nodes_.size());
    int64_t last = 0;
    for (const size_t node : order_) {
      const Node& here = nodes_[node];
      int64_t bound = INT64_MIN, now = INT64_MIN;
      for (const Edge& edge : here.before) {
        bound = std::max(bound, edge.end);
        now = std::max(now, edge.end + late[edge.node]);
      }
      if (!here.before.empty()) late[node] = now - bound;
      if (node == delayed) late[node] += delay;
      last = std::max(last, here.end + late[node]);
    }
    return last;
  }

  const TestTrace& trace_;
  Reference reference_;
  int64_t clock_error_;
  std::map<ThreadKey, ThreadTimes> threads_;
  std::map<ThreadKey, size_t> started_;           // by thread: the stretch that started it
  std::map<size_t, std::set<ThreadKey>> joined_;  // by stretch: threads that it waited for
  std::vector<Node> nodes_;
  std::vector<size_t> order_;
  std::map<int64_t, size_t> ops_;
  std::map<int64_t, size_t> submitted_;  // by op: the stretch that ends there
};

}  // namespace rochound::analysis
