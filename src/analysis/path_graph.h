// SPDX-License-Identifier: MIT
//
// The critical path of a trace over compact arrays: which chain of kernels, host work and waiting
// led from the first event to the last, and how much later every operation could have ended without
// moving the end. Filled by the question `critical-path` (and by tests), solved once, then read.
// One thread; cannot fail. About 40 bytes per operation and as much per launch.
//
// A node is an operation of a GPU, or a stretch of a host thread between two points at which it
// deals with GPUs or other threads: a submission and the start of a thread end a stretch, a waiting
// call ends one where it begins and starts one where it returns.
//
//   an operation follows   the stretch that submitted it, the operation with the latest end before
//                          its start in the same queue, and what it waited for (stream_order.h)
//   a stretch follows      the one before it on its thread; after a waiting call also the
//                          operations, or the ends of threads, that the call waited for
//   a thread's first       the stretch of another thread that started it, or the end of one that
//                          had to be over before (thread_order.h)
//
// Of a node's predecessors the one that ended last is binding. The time from there to the node's
// start is latency, and would stay if any of them ended later, so
//   slack(p) = min over followers f of slack(f) + (end of f's binding predecessor - end of p)
// and no node's slack is more than what is left to the end of the window.
//
// Predecessors that cannot have been any by their times are left out: an operation must be over
// when another that follows it starts, and when a call returns that waited for it. Clocks of host
// and GPU may differ: what is over a little after the return counts as over at the return. An
// operation that waits for a value in memory begins its work when the value is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "analysis/idle_sweep.h"
#include "analysis/stream_order.h"

namespace rochound::analysis {

inline constexpr uint32_t kNoNode = UINT32_MAX;

class PathGraph {
 public:
  explicit PathGraph(Window window, int64_t clock_error = kClockError)
      : window_(std::move(window)), clock_error_(clock_error) {}

  // --- filling, in this order

  // In the order of gpu, queue, start, end, id: gpu and queue are given as one number. Returns its
  // number, which counts from 0.
  uint32_t AddOp(uint32_t queue, int64_t start, int64_t end);
  // Threads count from 0. `end` is that of its last event.
  uint32_t AddThread(int64_t begin, int64_t end);
  // `by` started the thread at this time, which is not after its begin.
  void AddStart(uint32_t thread, uint32_t by, int64_t time);
  // The thread began when `before` was over.
  void AddStartAfter(uint32_t thread, uint32_t before);
  // op was submitted by this thread at this time; its start if that is earlier.
  void AddSubmit(uint32_t thread, int64_t time, uint32_t op);
  // op waited for before.
  void AddDependency(uint32_t op, uint32_t before);
  // op ended when a value in memory had been written, maybe by this one: of several the last counts
  // that ended before op did.
  void AddValue(uint32_t op, uint32_t writing);
  // A waiting call of a thread. Those of a thread do not overlap. Returns its number, which counts
  // from 0.
  uint32_t AddBlocking(uint32_t thread, int64_t start, int64_t end);
  void AddBlockingFor(uint32_t call, uint32_t op);
  // The call waited for the end of this thread.
  void AddBlockingForThread(uint32_t call, uint32_t thread);

  void Solve();
  // The same, and what follows what is kept for ForEachEdge and EndWith.
  void SolveAndKeep();

  // --- reading

  size_t ops() const { return op_count_; }
  int64_t Slack(uint32_t op) const { return slack_[op]; }

  enum class PieceKind : uint8_t {
    kOp,             // of `op`
    kHost,           // of `thread`
    kLaunchLatency,  // from submission to the start of `op`
    kOrderLatency,   // from the end of what it waited for to the start of `op`
    kSyncLatency,    // from the end of what it waited for to the return of blocking call `call`
    kBlocked,        // in blocking call `call`, which had nothing to wait for
    kUnknown,        // before `op`, which has no known cause
    kStart,          // before the first event of `thread`
  };
  struct Piece {
    PieceKind kind = PieceKind::kOp;
    int64_t begin = 0, end = 0;
    uint32_t op = kNoNode;
    uint32_t thread = kNoThread;
    uint32_t call = kNoNode;
  };
  struct Path {
    // First to last, from the window's begin; none is empty. The only holes between them are what
    // was not recorded (window.h).
    std::vector<Piece> pieces;
    std::vector<uint32_t> ops;  // all that are on it, those that took no time too
  };
  // The one that led to the last event of all.
  const Path& path() const { return path_; }
  // The one that led to this node.
  Path PathTo(uint32_t node) const;
  // The last node of those that `among` accepts: it is asked with an operation, or with a thread.
  uint32_t LastNode(const std::function<bool(uint32_t op, uint32_t thread)>& among) const;

  // Operations first, then stretches of threads.
  size_t nodes() const { return start_.size(); }
  int64_t Start(uint32_t node) const { return start_[node]; }
  int64_t End(uint32_t node) const { return end_[node]; }
  // Of a stretch; kNoThread for operations.
  uint32_t Thread(uint32_t node) const {
    return node < op_count_ ? kNoThread : stretch_thread_[node - op_count_];
  }
  // Of what a node follows, the one that ended last; kNoNode: it follows nothing.
  uint32_t Binding(uint32_t node) const { return binding_[node]; }

  // After SolveAndKeep: everything that a node follows, each once.
  void ForEachEdge(const std::function<void(uint32_t node, uint32_t before)>& visit) const;
  // After SolveAndKeep: when the last node would end if operations took these times instead.
  // Latencies and the host's own work stay as long as they were.
  int64_t EndWith(const std::function<int64_t(uint32_t op)>& duration) const;

 private:
  struct Point {
    int64_t time;
    uint32_t thread;
    uint32_t what;  // op, call or thread
    enum Kind : uint8_t { kSubmit, kStart } kind;
  };
  struct Edge {
    uint32_t node, before;
  };
  struct Call {
    uint32_t thread;
    int64_t start, end;
  };

  void FollowQueues();
  void WaitForValues();
  void MakeStretches();
  void SortEdges();
  void Order();
  void FreeEdges();
  bool Before(uint32_t a, uint32_t b) const;
  // Visits visit(before, its end as far as the node is concerned) for what the node follows.
  template <typename Visit>
  void ForBefore(uint32_t node, const Visit& visit) const;

  Window window_;
  int64_t clock_error_;
  size_t op_count_ = 0;
  // By node: operations first, then stretches, thread by thread.
  std::vector<int64_t> start_, end_;
  std::vector<int64_t> slack_;
  std::vector<int64_t> bound_;     // the latest end of what it follows; kNever: it follows nothing
  std::vector<uint32_t> binding_;  // and whose end that is
  std::vector<uint32_t> queue_;    // by op, until Solve
  std::vector<uint32_t> ahead_;    // by op: the one before it in its queue
  std::vector<uint32_t> stretch_;  // by op: that submitted it
  std::vector<uint32_t> stretch_thread_, stretch_call_;  // by stretch; the call it begins after
  std::vector<int64_t> thread_begin_, thread_end_;
  std::vector<uint32_t> starter_;  // by thread: the node that its first stretch follows
  std::vector<Call> calls_;
  std::vector<Point> points_;
  std::vector<Edge> edges_;         // between operations, by node
  std::vector<Edge> value_edges_;   // likewise, to those that wait for a value
  std::vector<Edge> call_edges_;    // from operations to stretches, by node; first by call
  std::vector<Edge> thread_edges_;  // between stretches, by node; first from thread to call
  std::vector<Edge> after_edges_;   // from thread to thread
  std::vector<uint32_t> order_;
  Path path_;
};

}  // namespace rochound::analysis
