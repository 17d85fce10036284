// SPDX-License-Identifier: MIT
#include "analysis/idle.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/table_builder.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Connection;

constexpr size_t kMostGaps = 10'000;  // that are kept and told, even if all are asked for

struct Ready {
  int64_t op, time;
};

// When what an operation waited for in other queues was over, if that was after its launch: only
// then can it have kept the queue idle.
Result<std::vector<Ready>> LoadReady(Connection& connection, const Names& names,
                                     const HostThreads& threads) {
  std::vector<Ready> ready;
  ROCHOUND_TRY(const int64_t queues,
               connection.Number("SELECT count(DISTINCT (gpuId, queueId)) FROM rocpd_op"));
  if (queues < 2) return ready;
  StreamOrder order([&](const Step& step, const std::vector<Op>& before) {
    int64_t time = kNever;
    for (const Op& op : before) {
      const bool elsewhere = op.gpu != step.op.gpu || op.queue != step.op.queue;
      if (elsewhere && op.end <= step.op.start) time = std::max(time, op.end);
    }
    if (time > step.start) ready.push_back({step.op.id, time});
  });
  ROCHOUND_CHECK(
      ForEachStep(connection, names, threads, false, [&](const Step& step) { order.Apply(step); }));
  std::sort(ready.begin(), ready.end(), [](const Ready& a, const Ready& b) { return a.op < b.op; });
  return ready;
}

}  // namespace

Result<Idle> AnalyzeIdle(Connection& connection, size_t longest) {
  Idle idle;
  ROCHOUND_TRY(idle.names, Names::Load(connection));
  ROCHOUND_TRY(idle.window, LoadWindow(connection, idle.names));
  ROCHOUND_TRY(idle.threads, LoadHostThreads(connection, idle.names));
  ROCHOUND_TRY(const std::vector<Ready> ready, LoadReady(connection, idle.names, idle.threads));
  // The sweep must not outlive the threads, which move with the result: it is done here.
  auto sweep = std::make_unique<IdleSweep>(idle.window, BlockingNames(idle.names), longest);
  ROCHOUND_CHECK(ForEachQueuedOp(
      connection, idle.names, idle.threads, [&](const QueuedOp& queued, uint32_t /*type*/) {
        QueuedOp op = queued;
        const auto found = std::lower_bound(ready.begin(), ready.end(), op.id,
                                            [](const Ready& a, int64_t b) { return a.op < b; });
        if (found != ready.end() && found->op == op.id) op.ready = found->time;
        sweep->Add(op, idle.threads);
      }));
  sweep->Finish(idle.threads);
  idle.sweep = std::move(sweep);
  return idle;
}

Result<Answer> AskIdle(store::TraceDatabase& trace, const AskOptions& options) {
  ROCHOUND_TRY(const Idle idle,
               AnalyzeIdle(trace.connection(), options.limit == 0 ? kMostGaps : options.limit));
  const IdleSweep& sweep = *idle.sweep;
  const int64_t wall = idle.window.length();
  Answer answer;
  answer.notes = {
      "A queue's busy time and its idle times add up to the time from the trace's first event to "
      "its "
      "last.",
      "The call is the one that ran longest meanwhile on the thread that launched what came next."};

  const auto cause_ns = [](const IdleSweep::Queue& queue, IdleCause cause) {
    return queue.idle[static_cast<size_t>(cause)];
  };
  TableBuilder queues(
      "queues", "Queues",
      {"#gpu", "#queue", "#operations", "#gaps", "#busy_ns", "#host_not_submitting_ns",
       "#sync_drained_ns", "#launch_latency_ns", "#dependency_ns", "#kernel_too_short_ns",
       "#unknown_launch_ns", "#wall_ns", "#idle_percent"},
      options.limit);
  IdleSweep::Queue sum;
  for (const IdleSweep::Queue& queue : sweep.queues()) {
    queues.Row(
        {queue.gpu, queue.queue, queue.ops, queue.gaps, queue.busy,
         cause_ns(queue, IdleCause::kHostNotSubmitting), cause_ns(queue, IdleCause::kSyncDrained),
         cause_ns(queue, IdleCause::kLaunchLatency), cause_ns(queue, IdleCause::kDependency),
         cause_ns(queue, IdleCause::kKernelTooShort), cause_ns(queue, IdleCause::kUnknownLaunch),
         wall, Percent(wall - queue.busy, wall)});
    sum.busy += queue.busy;
    for (size_t i = 0; i < kIdleCauses; ++i) sum.idle[i] += queue.idle[i];
  }
  answer.tables.push_back(queues.Take());

  const int64_t all = wall * static_cast<int64_t>(sweep.queues().size());
  std::vector<std::pair<int64_t, std::string>> states = {{sum.busy, "busy"}};
  for (size_t i = 0; i < kIdleCauses; ++i)
    states.emplace_back(sum.idle[i], IdleCauseName(static_cast<IdleCause>(i)));
  std::stable_sort(states.begin(), states.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  TableBuilder causes("causes", "All queues by cause", {"state", "#total_ns", "#share_percent"}, 0);
  for (auto& [ns, state] : states)
    if (ns > 0) causes.Row({std::move(state), ns, Percent(ns, all)});
  answer.tables.push_back(causes.Take());

  struct ByCall {
    IdleCause cause;
    uint32_t call;
    IdleSweep::Total total;
  };
  std::vector<ByCall> calls;
  for (const auto& [key, total] : sweep.by_call()) calls.push_back({key.first, key.second, total});
  std::sort(calls.begin(), calls.end(), [](const ByCall& a, const ByCall& b) {
    return std::tuple(b.total.ns, a.cause, a.call) < std::tuple(a.total.ns, b.cause, b.call);
  });
  TableBuilder by_call("calls", "Idle time by cause and by the host call that ran meanwhile",
                       {"cause", "call", "#pieces", "#total_ns", "#share_percent"}, options.limit);
  for (const ByCall& one : calls) {
    by_call.Row({std::string(IdleCauseName(one.cause)), idle.names.text(one.call), one.total.pieces,
                 one.total.ns, Percent(one.total.ns, all - sum.busy)});
  }
  answer.tables.push_back(by_call.Take());

  TableBuilder gaps(
      "gaps", "Longest gaps",
      {"#gpu", "#queue", "#at_ns", "#idle_ns", "cause", "#cause_ns", "call", "before", "after"},
      options.limit);
  for (const IdleGap& gap : sweep.longest()) {
    gaps.Row({gap.gpu, gap.queue, gap.begin - idle.window.begin, gap.end - gap.begin,
              std::string(IdleCauseName(gap.main.cause)), gap.main.end - gap.main.begin,
              idle.names.text(gap.main.call), idle.names.text(gap.before),
              idle.names.text(gap.after)});
  }
  answer.tables.push_back(gaps.Take());
  int64_t all_gaps = 0;
  for (const IdleSweep::Queue& queue : sweep.queues()) all_gaps += queue.gaps;
  answer.tables.back().more = static_cast<uint64_t>(all_gaps) - answer.tables.back().rows.size();
  return answer;
}

}  // namespace rochound::analysis
