// SPDX-License-Identifier: MIT
#include "analysis/idle.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/table_builder.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Connection;
using store::duck::Rows;

constexpr size_t kMostGaps = 10'000;  // that are kept and told, even if all are asked for

bool HasPart(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

// What kept an operation from starting once it was submitted.
struct Delay {
  int64_t op = 0;
  int64_t ready = kNever;            // when what it waited for in other queues was over
  uint32_t host_function = kNoName;  // the call that put a function of the program before it
};

bool AddsHostFunction(const std::string& name) {
  return HasPart(name, "LaunchHostFunc") || HasPart(name, "StreamAddCallback");
}

// By operation. Calls that wait for a function of the program go to `host`.
Result<std::vector<Delay>> FindDelays(Connection& connection, const Names& names,
                                      const HostThreads& threads, HostActivity& host) {
  std::vector<Delay> delays;
  ROCHOUND_TRY(const int64_t queues,
               connection.Number("SELECT count(DISTINCT (gpuId, queueId)) FROM rocpd_op"));
  const bool functions = names.IdsWhere(AddsHostFunction) != "NULL";
  if (queues < 2 && !functions) return delays;
  StreamOrder order([&](const Step& step, const std::vector<Op>& before) {
    if (IsWaiting(step.kind)) {
      const uint32_t thread = threads.Find(step.pid, step.tid);
      if (step.host_function != kNoName && thread != kNoThread)
        host.SetKind(thread, step.start, Activity::kHostFunction);
      return;
    }
    Delay delay{.op = step.op.id, .host_function = step.host_function};
    for (const Op& op : before) {
      const bool elsewhere = op.gpu != step.op.gpu || op.queue != step.op.queue;
      // Only what was over after the launch can have kept the queue idle.
      if (elsewhere && op.end <= step.op.start && op.end > step.start)
        delay.ready = std::max(delay.ready, op.end);
    }
    if (delay.ready != kNever || delay.host_function != kNoName) delays.push_back(delay);
  });
  ROCHOUND_CHECK(ForEachStep(connection, names, threads, functions,
                             [&](const Step& step) { order.Apply(step); }));
  std::sort(delays.begin(), delays.end(),
            [](const Delay& a, const Delay& b) { return a.op < b.op; });
  return delays;
}

// --- what calls are beside calls

Activity KindOf(const std::string& name) {
  for (const std::string_view loads :
       {"ModuleLoad", "LibraryLoad", "LinkComplete", "__hipRegisterFatBinary"})
    if (HasPart(name, loads)) return Activity::kLoading;
  if (name == "hipInit" || name == "cuInit") return Activity::kSetUp;
  switch (BlockingOf(name)) {
    case Blocking::kDevice:
    case Blocking::kStream:
    case Blocking::kEvent:
      return Activity::kSync;
    case Blocking::kMemory:
      return Activity::kWaitsToo;
    default:  // waits by the way, if at all: what is left when the GPU is idle is the call's own
      return Activity::kCall;
  }
}

// Copies of a few bytes to the host that follow a kernel on their thread: the program looks at a
// result before it goes on. Of several in a row only the first is one, the others could be one copy
// with it. Where such a copy does not wait itself, the synchronization after it does.
Result<void> FindReadBacks(Connection& connection, const Names& names, const HostThreads& threads,
                           HostActivity& host) {
  const auto ids = [&](std::string_view part) {
    return names.IdsWhere([&](const std::string& name) {
      return (name.starts_with("hip") || name.starts_with("cu")) && HasPart(name, part);
    });
  };
  ROCHOUND_TRY(
      Rows rows,
      connection.Query(fmt::format(
          "WITH call AS ("
          "  SELECT a.id, a.pid, a.tid, a.start, CASE WHEN a.apiName_id IN ({0}) THEN 'launch'"
          "    WHEN a.apiName_id IN ({1}) THEN 'wait'"
          "    WHEN (c.kind = 2 OR (c.kind = 4 AND c.dstDevice < 0)) AND c.size > 0 AND c.size <= {3}"
          "    THEN 'read' ELSE 'copy' END AS what"
          "  FROM rocpd_api a LEFT JOIN rocpd_copyapi c ON c.api_ptr_id = a.id"
          "  WHERE a.apiName_id IN ({0}) OR a.apiName_id IN ({1}) OR a.apiName_id IN ({2})"
          "), ordered AS ("
          "  SELECT *, lag(what) OVER turn AS before, lag(what, 2) OVER turn AS earlier FROM call"
          "  WINDOW turn AS (PARTITION BY pid, tid ORDER BY start, id)"
          ") SELECT pid, tid, start FROM ordered"
          " WHERE (what = 'read' AND before = 'launch')"
          "  OR (what = 'wait' AND before = 'read' AND earlier = 'launch')",
          ids("Launch"), ids("Synchronize"), ids("Memcpy"), kResultBytes)));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return {};
    const uint32_t thread = threads.Find(rows.Int(0), rows.Int(1));
    if (thread != kNoThread) host.SetKind(thread, rows.Int(2), Activity::kReadBack);
  }
}

// The runtime makes queues when they are needed. Of several calls in flight at that time the
// shortest did it, and rather none that waits.
Result<void> FindSetUp(Connection& connection, const HostThreads& threads,
                       const std::vector<Activity>& kinds, HostActivity& host) {
  ROCHOUND_TRY(Rows rows,
               connection.Query("SELECT p.pid, q.created FROM rochound_queue q"
                                " JOIN rochound_process p USING (session) WHERE q.created > 0"));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return {};
    const int64_t pid = rows.Int(0), time = rows.Int(1);
    uint32_t thread = kNoThread;
    std::tuple<bool, int64_t, int64_t> best;  // waits, length, start
    for (uint32_t i = 0; i < threads.threads().size(); ++i) {
      if (threads.threads()[i].pid != pid) continue;
      const size_t call = threads.FirstEndingAfter(i, time);
      if (call == threads.threads()[i].last || threads.start(call) > time) continue;
      const std::tuple<bool, int64_t, int64_t> one = {kinds[threads.name(call)] == Activity::kSync,
                                                      threads.end(call) - threads.start(call),
                                                      threads.start(call)};
      if (thread != kNoThread && best <= one) continue;
      thread = i;
      best = one;
    }
    if (thread != kNoThread) host.SetKind(thread, std::get<2>(best), Activity::kSetUp);
  }
}

// The runtime loads a code object when its first kernel is launched. Where code objects are not in
// the trace, a kernel's first launch that takes long is taken for it.
constexpr int64_t kSlowLaunch = 1'000'000;

Result<void> FindFirstLaunches(Connection& connection, const HostThreads& threads,
                               HostActivity& host) {
  ROCHOUND_TRY(
      Rows rows,
      connection.Query(
          "SELECT a.pid, a.tid, a.start FROM ("
          "SELECT arg_min(d.api_id, (d.submit, d.op_id)) AS id, k.codeObject > 0 AS known"
          " FROM rochound_dispatch d JOIN rochound_kernel k ON k.id = d.kernel_id"
          " WHERE d.api_id IS NOT NULL"
          " GROUP BY d.op_id >> 32, k.codeObject, if(k.codeObject > 0, 0, k.id), d.agent) first"
          " JOIN rocpd_api a ON a.id = first.id"
          " WHERE first.known OR a.\"end\" - a.start > " +
          std::to_string(kSlowLaunch)));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return {};
    const uint32_t thread = threads.Find(rows.Int(0), rows.Int(1));
    if (thread != kNoThread) host.SetKind(thread, rows.Int(2), Activity::kLoading);
  }
}

// --- ranges

// Names that differ by their numbers only are one when there are more of them than this.
constexpr int kMostNumbered = 8;

Result<RangeTimeline> LoadRanges(Connection& connection, const Names& names,
                                 std::vector<std::string>& texts) {
  RangeTimeline ranges;
  const std::string marks = names.IdsWhere(IsMarkDomain);
  if (marks == "NULL") return ranges;
  ROCHOUND_CHECK(connection.Run(fmt::format(
      "CREATE OR REPLACE TEMP TABLE analysis_range AS"
      " WITH message AS ("
      "  SELECT a.pid, a.tid, a.start, a.\"end\", a.id, {2} AS text"
      "  FROM rocpd_api a JOIN rocpd_ustring u ON u.id = a.args_id"
      "  WHERE a.domain_id IN ({0})"
      "   AND u.id IN (SELECT args_id FROM rocpd_api WHERE domain_id IN ({0}))"
      " ), alike AS ("
      "  SELECT text, regexp_replace(text, '[0-9]+', '#', 'g') AS general FROM message GROUP BY "
      "text"
      " ), named AS ("
      "  SELECT text, if(count(*) OVER (PARTITION BY general) > {1}, general, text) AS name FROM "
      "alike"
      " )"
      " SELECT m.*, n.name, dense_rank() OVER (ORDER BY n.name) - 1 AS number"
      " FROM message m JOIN named n USING (text)",
      marks, kMostNumbered, RangeName("u.string"))));
  {
    ROCHOUND_TRY(Rows rows, connection.Query("SELECT DISTINCT number, name FROM analysis_range"
                                             " ORDER BY number"));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      texts.emplace_back(rows.Text(1));
    }
  }
  ROCHOUND_TRY(Rows rows,
               connection.Query("SELECT pid, tid, start, \"end\", number FROM analysis_range"
                                " ORDER BY pid, tid, start, \"end\" DESC, id"));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    ranges.Add(rows.Int(0), rows.Int(1), rows.Int(2), rows.Int(3),
               static_cast<uint32_t>(names.size() + static_cast<size_t>(rows.Int(4))));
  }
  ranges.Finish();
  return ranges;
}

}  // namespace

const std::string& Idle::Text(uint32_t what) const {
  if (what == kNoName || what < names.size()) return names.text(what);
  return ranges[what - names.size()];
}

Result<Idle> AnalyzeIdle(Connection& connection, size_t longest) {
  Idle idle;
  ROCHOUND_TRY(idle.names, Names::Load(connection));
  ROCHOUND_TRY(idle.window, LoadWindow(connection, idle.names));
  ROCHOUND_TRY(idle.threads, LoadHostThreads(connection, idle.names));
  ROCHOUND_TRY(const RangeTimeline ranges, LoadRanges(connection, idle.names, idle.ranges));
  std::vector<Activity> kinds(idle.names.size());
  for (uint32_t i = 0; i < kinds.size(); ++i) kinds[i] = KindOf(idle.names.text(i));
  HostActivity host(idle.threads, ranges, kinds);
  ROCHOUND_CHECK(FindReadBacks(connection, idle.names, idle.threads, host));
  ROCHOUND_CHECK(FindFirstLaunches(connection, idle.threads, host));
  // A first launch that makes its queue as well is set-up: that takes longer, and no other way of
  // loading code saves it.
  ROCHOUND_CHECK(FindSetUp(connection, idle.threads, kinds, host));
  ROCHOUND_TRY(const std::vector<Delay> delays,
               FindDelays(connection, idle.names, idle.threads, host));

  // Threads are noted where a whole program was recorded by us.
  ROCHOUND_TRY(const int64_t whole,
               connection.Number("SELECT count(*) FROM rochound_fact WHERE name = 'thread'"));
  ROCHOUND_TRY(const int64_t pauses, connection.Number("SELECT count(*) FROM rochound_unrecorded"));
  idle.sweep = std::make_unique<IdleSweep>(idle.window, longest, whole > 0 && pauses == 0);
  ROCHOUND_CHECK(ForEachQueuedOp(connection, idle.names, idle.threads, OpOrder::kGpu,
                                 [&](const QueuedOp& queued, uint32_t /*type*/) {
                                   QueuedOp op = queued;
                                   const auto found = std::lower_bound(
                                       delays.begin(), delays.end(), op.id,
                                       [](const Delay& a, int64_t b) { return a.op < b; });
                                   if (found != delays.end() && found->op == op.id) {
                                     op.ready = found->ready;
                                     op.host_function = found->host_function;
                                   }
                                   idle.sweep->Add(op, host);
                                 }));
  idle.sweep->Finish(host);
  return idle;
}

namespace {

// Busy time and every cause that there is, most first, for each GPU.
Table CausesTable(const Idle& idle) {
  TableBuilder causes("causes", "Time of each GPU by state",
                      {"#gpu", "state", "#total_ns", "#share_percent", "#steady_percent"}, 0);
  const int64_t wall = idle.window.length();
  for (const IdleSweep::Lane& gpu : idle.sweep->gpus()) {
    struct State {
      int64_t ns;
      std::string name;
      bool one_time;
    };
    std::vector<State> states = {{gpu.busy, "busy", false}};
    for (size_t i = 0; i < kIdleCauses; ++i) {
      const auto cause = static_cast<IdleCause>(i);
      states.push_back({gpu.idle[i], std::string(IdleCauseName(cause)), IsOneTime(cause)});
    }
    std::stable_sort(states.begin(), states.end(),
                     [](const State& a, const State& b) { return a.ns > b.ns; });
    for (State& state : states) {
      if (state.ns == 0) continue;
      causes.Row({gpu.gpu, std::move(state.name), state.ns, Percent(state.ns, wall),
                  state.one_time ? Value() : Value(Percent(state.ns, wall - gpu.OneTime()))});
    }
  }
  return causes.Take();
}

Table ReasonsTable(const Idle& idle, uint64_t limit) {
  std::vector<std::pair<IdleSweep::Reasons::key_type, IdleSweep::Total>> reasons(
      idle.sweep->reasons().begin(), idle.sweep->reasons().end());
  const auto place = [&](const auto& reason) {
    const auto& [gpu, cause, what] = reason.first;
    return std::tuple(-reason.second.ns, gpu, cause, std::string_view(idle.Text(what)));
  };
  std::sort(reasons.begin(), reasons.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  TableBuilder table("reasons", "What GPUs waited for",
                     {"#gpu", "cause", "what", "#gaps", "#total_ns", "#share_percent"}, limit);
  for (const auto& [key, total] : reasons) {
    const auto& [gpu, cause, what] = key;
    table.Row({gpu, std::string(IdleCauseName(cause)), idle.Text(what), total.gaps, total.ns,
               Percent(total.ns, idle.window.length())});
  }
  return table.Take();
}

Table OriginsTable(const Idle& idle, uint64_t limit) {
  std::vector<std::pair<IdleSweep::Origins::key_type, IdleSweep::OriginTotal>> origins(
      idle.sweep->origins().begin(), idle.sweep->origins().end());
  const auto place = [&](const auto& one) {
    const auto& [gpu, origin, call, cause, what] = one.first;
    return std::tuple(-one.second.ns, gpu, origin, std::string_view(idle.Text(call)), cause,
                      std::string_view(idle.Text(what)));
  };
  std::sort(origins.begin(), origins.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  TableBuilder table("origins", "What emptied GPUs",
                     {"#gpu", "origin", "call", "cause", "what", "#gaps", "#pieces", "#total_ns"},
                     limit);
  for (const auto& [key, total] : origins) {
    const auto& [gpu, origin, call, cause, what] = key;
    table.Row({gpu, std::string(GapOriginName(origin)), idle.Text(call),
               std::string(IdleCauseName(cause)), idle.Text(what), total.gaps, total.pieces,
               total.ns});
  }
  return table.Take();
}

Table DrainsTable(const Idle& idle, uint64_t limit) {
  std::vector<std::pair<IdleSweep::Drains::key_type, IdleSweep::Drain>> drains(
      idle.sweep->drains().begin(), idle.sweep->drains().end());
  const auto place = [&](const auto& one) {
    const auto& [gpu, origin, call, range] = one.first;
    return std::tuple(-one.second.ns, gpu, origin, std::string_view(idle.Text(call)),
                      std::string_view(idle.Text(range)));
  };
  std::sort(drains.begin(), drains.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  TableBuilder table(
      "drains", "Calls that waited until a GPU was empty",
      {"#gpu", "origin", "call", "range", "#gaps", "#total_ns", "#longest_at_ns", "#pid", "#tid"},
      limit);
  for (const auto& [key, drain] : drains) {
    const auto& [gpu, origin, call, range] = key;
    const HostThread& thread = idle.threads.threads()[drain.longest_thread];
    table.Row({gpu, std::string(GapOriginName(origin)), idle.Text(call), idle.Text(range),
               drain.gaps, drain.ns, drain.longest_at - idle.window.begin, thread.pid, thread.tid});
  }
  return table.Take();
}

Table GapsTable(const Idle& idle, uint64_t limit) {
  TableBuilder table(
      "gaps", "Longest gaps of GPUs",
      {"#gpu", "#at_ns", "#idle_ns", "cause", "#cause_ns", "what", "before", "after"}, limit);
  for (const IdleGap& gap : idle.sweep->longest()) {
    table.Row({gap.gpu, gap.begin - idle.window.begin, gap.end - gap.begin,
               std::string(IdleCauseName(gap.main.cause)), gap.main.ns, idle.Text(gap.main.what),
               idle.names.text(gap.before), idle.names.text(gap.after)});
  }
  Table gaps = table.Take();
  int64_t all = 0;
  for (const IdleSweep::Lane& gpu : idle.sweep->gpus()) all += gpu.gaps;
  gaps.more = static_cast<uint64_t>(all) - gaps.rows.size();
  return gaps;
}

// The queues that are used, each as if it were alone. left_out: how many are barely used.
Table QueuesTable(const Idle& idle, const std::map<int64_t, int64_t>& pids, uint64_t limit,
                  int64_t& left_out) {
  TableBuilder table(
      "queues", "Each queue alone",
      {"#gpu", "#queue", "#pid", "#operations", "#gaps", "#busy_ns", "#outside_hip_ns",
       "#other_hip_call_ns", "#synchronization_ns", "#launch_latency_ns", "#kernel_too_short_ns",
       "#dependency_ns", "#host_function_ns", "#code_loading_ns", "#initialisation_ns",
       "#unknown_launch_ns", "#not_recorded_ns", "#wall_ns", "#idle_percent"},
      limit);
  const int64_t wall = idle.window.length();
  for (const IdleSweep::Lane& queue : idle.sweep->queues()) {
    const auto& gpus = idle.sweep->gpus();
    const auto gpu = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const IdleSweep::Lane& one) { return one.gpu == queue.gpu; });
    if (IdleSweep::BarelyUsed(queue, *gpu)) {
      ++left_out;
      continue;
    }
    const auto pid = pids.find(queue.process);
    std::vector<Value> row = {
        queue.gpu, queue.queue, pid == pids.end() ? Value() : Value(pid->second),
        queue.ops, queue.gaps,  queue.busy};
    for (const int64_t ns : queue.idle) row.emplace_back(ns);
    row.emplace_back(wall);
    row.emplace_back(Percent(wall - queue.busy, wall));
    table.Row(std::move(row));
  }
  return table.Take();
}

Result<std::map<int64_t, int64_t>> LoadPids(Connection& connection) {
  std::map<int64_t, int64_t> pids;
  ROCHOUND_TRY(Rows rows, connection.Query("SELECT session, pid FROM rochound_process"));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return pids;
    pids[rows.Int(0)] = rows.Int(1);
  }
}

}  // namespace

Result<Answer> AskIdle(store::TraceDatabase& trace, const AskOptions& options) {
  ROCHOUND_TRY(const Idle idle,
               AnalyzeIdle(trace.connection(), options.limit == 0 ? kMostGaps : options.limit));
  using Pids = std::map<int64_t, int64_t>;
  ROCHOUND_TRY(const Pids pids, LoadPids(trace.connection()));
  Answer answer;
  answer.notes = {
      "A GPU is busy while any of its queues is. Busy and idle times of a GPU add up to the time "
      "from the trace's first event to its last.",
      "Idle time goes to what the thread was doing that launched what came next."};
  bool one_time = false;
  for (const IdleSweep::Lane& gpu : idle.sweep->gpus()) one_time |= gpu.OneTime() > 0;
  if (one_time) {
    answer.notes.emplace_back(
        "One-time cost is paid once, however long the program runs: steady_percent leaves it out.");
  }
  answer.tables.push_back(CausesTable(idle));
  answer.tables.push_back(ReasonsTable(idle, options.limit));
  answer.tables.push_back(OriginsTable(idle, options.limit));
  answer.tables.push_back(DrainsTable(idle, options.limit));
  answer.tables.push_back(GapsTable(idle, options.limit));
  int64_t left_out = 0;
  answer.tables.push_back(QueuesTable(idle, pids, options.limit, left_out));
  if (left_out > 0) {
    answer.notes.push_back(fmt::format(
        "{} that {} less than 1% of the GPU's operations and busy time {} left out here; `rochound "
        "explain busy` lists all queues.",
        left_out == 1 ? "1 queue" : fmt::format("{} queues", left_out),
        left_out == 1 ? "has" : "have", left_out == 1 ? "is" : "are"));
  }
  return answer;
}

}  // namespace rochound::analysis
