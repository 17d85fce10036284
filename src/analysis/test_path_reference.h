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
  PathReference(const TestTrace& trace, Window window) : trace_(trace), reference_(trace, window) {
    AddOps();
    AddThreads();
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
        wait = {.kind = after_op ? Kind::kSyncLatency : Kind::kBlocked,
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
    int64_t start = 0, end = 0;
    int64_t id = 0, pid = 0, tid = 0;
    std::string call{};  // that it begins behind
    std::vector<Edge> before{};
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

  void AddThreads() {
    std::map<std::pair<int64_t, int64_t>, int64_t> threads;  // and their ends
    for (const TestCall& call : trace_.calls) {
      if (call.domain == "rochound") continue;
      const auto [at, is_new] = threads.emplace(std::pair(call.pid, call.tid), call.end);
      at->second = std::max(at->second, call.end);
    }
    for (const auto& [thread, end] : threads) {
      // time, submissions last, then in order
      std::map<std::tuple<int64_t, bool, size_t, int>, std::pair<const TestOp*, const TestCall*>>
          points;
      std::vector<const TestCall*> blocking;
      for (const TestCall& call : trace_.calls)
        if (std::pair(call.pid, call.tid) == thread && reference_.IsBlocking(call) &&
            reference_.IsOutermost(call))
          blocking.push_back(&call);
      std::sort(blocking.begin(), blocking.end(), [](const TestCall* a, const TestCall* b) {
        return std::pair(a->start, a->id) < std::pair(b->start, b->id);
      });
      for (size_t i = 0; i < blocking.size(); ++i) {
        points[{blocking[i]->start, false, i, 0}] = {nullptr, nullptr};
        points[{blocking[i]->end, false, i, 1}] = {nullptr, blocking[i]};
      }
      for (const TestOp& op : trace_.ops) {
        const TestCall* const call = trace_.FindCall(op.call);
        if (call == nullptr || std::pair(call->pid, call->tid) != thread) continue;
        const int64_t submit = std::max(trace_.SubmitOf(op), call->start);
        const int64_t time = std::max(std::min(submit, op.start), reference_.window().begin);
        points[{time, true, ops_[op.id], 0}] = {&op, nullptr};
      }
      Node stretch{.start = reference_.window().begin, .pid = thread.first, .tid = thread.second};
      const TestCall* behind = nullptr;
      bool first = true;
      const auto finish = [&](int64_t until) {
        stretch.end = std::max(stretch.start, until);
        if (!first) stretch.before.push_back({nodes_.size() - 1, nodes_.back().end});
        first = false;
        if (behind != nullptr) {
          stretch.call = behind->name;
          for (const int64_t id : reference_.BlockedBy(*behind)) {
            const Node& op = nodes_[ops_[id]];
            if (op.start < stretch.start)
              stretch.before.push_back({ops_[id], std::min(op.end, stretch.start)});
          }
        }
        behind = nullptr;
        nodes_.push_back(stretch);
        order_.push_back(nodes_.size() - 1);
        stretch.start = stretch.end;
        stretch.before.clear();
        stretch.call.clear();
      };
      for (const auto& [key, what] : points) {
        if (what.second != nullptr) {
          stretch.start = std::get<0>(key);
          behind = what.second;
          continue;
        }
        finish(std::get<0>(key));
        if (what.first != nullptr) submitted_[what.first->id] = nodes_.size() - 1;
      }
      finish(end);
    }
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
  std::vector<Node> nodes_;
  std::vector<size_t> order_;
  std::map<int64_t, size_t> ops_;
  std::map<int64_t, size_t> submitted_;  // by op: the stretch that ends there
};

}  // namespace rochound::analysis
