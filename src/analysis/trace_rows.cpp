// SPDX-License-Identifier: MIT
#include "analysis/trace_rows.h"

#include <optional>
#include <tuple>
#include <utility>

#include "store/open/launching_call.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Connection;
using store::duck::Rows;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// hipEventRecord -> EventRecord, cudaEventRecord and cuEventRecord likewise; others: nothing.
std::string_view WithoutPrefix(std::string_view name) {
  for (const std::string_view start : {"hip", "cuda", "cu"})
    if (StartsWith(name, start)) return name.substr(start.size());
  return {};
}

struct StepOfName {
  StepKind kind;
  bool sure = true;
};

std::optional<StepOfName> StepOf(std::string_view name) {
  const std::string_view rest = WithoutPrefix(name);
  if (StartsWith(rest, "EventRecord")) return StepOfName{StepKind::kRecord};
  if (StartsWith(rest, "StreamWaitEvent")) return StepOfName{StepKind::kWait};
  if (StartsWith(rest, "StreamBeginCapture")) return StepOfName{StepKind::kBeginCapture};
  if (StartsWith(rest, "StreamEndCapture")) return StepOfName{StepKind::kEndCapture};
  if (StartsWith(rest, "StreamCreate")) return StepOfName{StepKind::kCreateStream};
  if (rest == "SetDevice") return StepOfName{StepKind::kSetDevice};
  if (StartsWith(rest, "LaunchHostFunc") || StartsWith(rest, "StreamAddCallback"))
    return StepOfName{StepKind::kHostFunction};
  switch (BlockingOf(name)) {
    case Blocking::kDevice:
      return StepOfName{StepKind::kSyncDevice};
    case Blocking::kMayDevice:
      return StepOfName{StepKind::kSyncDevice, false};
    case Blocking::kMemory:
      return StepOfName{StepKind::kSyncMemory};
    case Blocking::kStream:
      return StepOfName{StepKind::kSyncStream};
    case Blocking::kMayStream:
      return StepOfName{StepKind::kSyncStream, false};
    case Blocking::kEvent:
      return StepOfName{StepKind::kSyncEvent};
    case Blocking::kQueryStream:
      return StepOfName{StepKind::kQueryStream};
    case Blocking::kQueryEvent:
      return StepOfName{StepKind::kQueryEvent};
    case Blocking::kNot:
      break;
  }
  return std::nullopt;
}

bool WaitsForValue(std::string_view name) {
  return StartsWith(WithoutPrefix(name), "StreamWaitValue");
}
bool WritesValue(std::string_view name) {
  return StartsWith(WithoutPrefix(name), "StreamWriteValue");
}

bool IsOurDomain(const std::string& domain) { return domain == "rochound"; }

// The arguments of calls by these names. Most of a trace's text is arguments, so a join must never
// collect all of it: it is read once past a small set of ids.
std::string ArgumentsOf(const std::string& name_ids) {
  return "(SELECT id, string FROM rocpd_ustring WHERE id IN (SELECT args_id FROM rocpd_api"
         " WHERE apiName_id IN (" +
         name_ids + ")))";
}

}  // namespace

Result<Names> Names::Load(Connection& connection) {
  Names names;
  std::unordered_map<std::string, uint32_t> known;
  ROCHOUND_TRY(Rows rows, connection.Query("SELECT id, string FROM rocpd_string ORDER BY id"));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    const auto [at, is_new] = known.emplace(rows.Text(1), static_cast<uint32_t>(known.size()));
    if (is_new) names.texts_.push_back(at->first);
    names.numbers_.emplace(rows.Int(0), at->second);
  }
  return names;
}

const std::string& Names::text(uint32_t name) const {
  static const std::string* const nothing = new std::string;
  return name < texts_.size() ? texts_[name] : *nothing;
}

std::string Names::IdsWhere(const std::function<bool(const std::string& text)>& fits) const {
  std::string ids;
  std::vector<bool> chosen(texts_.size());
  for (size_t i = 0; i < texts_.size(); ++i) chosen[i] = fits(texts_[i]);
  for (const auto& [id, name] : numbers_) {
    if (!chosen[name]) continue;
    if (!ids.empty()) ids += ", ";
    ids += std::to_string(id);
  }
  return ids.empty() ? "NULL" : ids;
}

bool IsMarkDomain(const std::string& domain) {
  return domain == "roctx" || domain == "torch" || domain == "python";
}

std::string RangeName(const std::string& column) {
  return "CASE WHEN " + column + " = '' THEN '(no name)' ELSE regexp_extract(" + column +
         ", '^(.*?)(, (seq|op_id|sizes|input_op_ids) = |$)', 1, 's') END";
}

Result<std::vector<HostProcess>> LoadHostProcesses(Connection& connection) {
  std::vector<HostProcess> processes;
  ROCHOUND_TRY(Rows rows, connection.Query("SELECT pid, ppid, start, \"end\" FROM rochound_process"
                                           " WHERE start IS NOT NULL ORDER BY session"));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return processes;
    processes.push_back({rows.Int(0), rows.Int(1), rows.Int(2), rows.Int(3)});
  }
}

Result<Window> LoadWindow(Connection& connection, const Names& names) {
  const std::string ours = names.IdsWhere(IsOurDomain);
  ROCHOUND_TRY(Rows rows, connection.Query(
                              "SELECT min(start), max(\"end\") FROM ("
                              " SELECT min(start) AS start, max(\"end\") AS \"end\" FROM rocpd_api"
                              "  WHERE (domain_id IN (" +
                              ours +
                              ")) IS NOT true"
                              " UNION ALL SELECT min(start), max(\"end\") FROM rocpd_op)"));
  Window window;
  ROCHOUND_TRY(const bool any, rows.Next());
  if (any && !rows.IsNull(0)) window = {.begin = rows.Int(0), .end = rows.Int(1)};
  while (true) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
  }
  ROCHOUND_TRY(window.unrecorded, LoadUnrecorded(connection));
  return window;
}

Result<HostThreads> LoadHostThreads(Connection& connection, const Names& names) {
  HostThreads threads;
  // Growing arrays would need twice their memory for a while.
  ROCHOUND_TRY(const int64_t calls, connection.Number("SELECT count(*) FROM rocpd_api"));
  threads.Reserve(static_cast<size_t>(calls));
  const std::string ours = names.IdsWhere(IsOurDomain);
  const std::string marks = names.IdsWhere(IsMarkDomain);
  ROCHOUND_TRY(Rows rows, connection.Query("SELECT pid, tid, start, \"end\", apiName_id,"
                                           " (domain_id IN (" +
                                           marks +
                                           ")) IS true"
                                           " FROM rocpd_api WHERE (domain_id IN (" +
                                           ours +
                                           ")) IS NOT true"
                                           " ORDER BY pid, tid, start, \"end\" DESC, id"));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return threads;
    threads.Add(rows.Int(0), rows.Int(1), rows.Int(2), rows.Int(3),
                rows.Int(5) != 0 ? kNoName : names.Of(rows.Int(4)));
  }
}

Result<void> ForEachQueuedOp(Connection& connection, const Names& names, const HostThreads& threads,
                             OpOrder order,
                             const std::function<void(const QueuedOp&, uint32_t type)>& visit) {
  ROCHOUND_TRY(Rows rows,
               connection.Query(std::string("SELECT o.id, o.gpuId, o.queueId, o.start, o.\"end\","
                                            " o.description_id, o.opType_id, launch.submit,"
                                            " a.id, a.pid, a.tid, a.start, a.\"end\""
                                            " FROM rocpd_op o") +
                                store::kJoinLaunch +
                                "LEFT JOIN rocpd_api a ON a.id = launch.api_id"
                                " ORDER BY o.gpuId, " +
                                (order == OpOrder::kQueue ? "o.queueId, " : "") +
                                "o.start, o.\"end\", o.id"));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return {};
    QueuedOp op{.id = rows.Int(0),
                .gpu = rows.Int(1),
                .queue = rows.Int(2),
                .start = rows.Int(3),
                .end = rows.Int(4),
                .name = names.Of(rows.Int(5))};
    const uint32_t type = names.Of(rows.Int(6));
    if (names.text(op.name).empty()) op.name = type;
    if (!rows.IsNull(7)) op.submit = rows.Int(7);
    if (!rows.IsNull(8)) {
      op.has_launch = true;
      op.thread = threads.Find(rows.Int(9), rows.Int(10));
      op.launch = rows.Int(11);
      op.returned = rows.Int(12);
      if (op.submit == kNever) op.submit = rows.Int(12);
    }
    visit(op, type);
  }
}

namespace {

// Operations with a known launch call, by process and call.
class OpSteps {
 public:
  static Result<OpSteps> Open(Connection& connection, const Names& names) {
    ROCHOUND_CHECK(connection.Run(
        "CREATE OR REPLACE TEMP TABLE analysis_stream AS"
        " SELECT stream, row_number() OVER (ORDER BY stream) - 1 AS number FROM ("
        " SELECT stream FROM rocpd_kernelapi UNION SELECT stream FROM rocpd_copyapi)"));
    std::vector<std::string> streams;
    {
      ROCHOUND_TRY(Rows rows,
                   connection.Query("SELECT stream FROM analysis_stream ORDER BY number"));
      for (;;) {
        ROCHOUND_TRY(const bool more, rows.Next());
        if (!more) break;
        streams.emplace_back(rows.Text(0));
      }
    }
    // Fills, and what waits for values and writes them, have no row with their stream; it is in
    // the call's arguments.
    const std::string others = names.IdsWhere([](const std::string& text) {
      return Contains(text, "Memset") || WaitsForValue(text) || WritesValue(text);
    });
    const std::string other_args =
        others == "NULL" ? "(SELECT NULL::BIGINT AS id, NULL::VARCHAR AS string WHERE false)"
                         : "(SELECT f.id, u.string FROM rocpd_api f JOIN " + ArgumentsOf(others) +
                               " u ON u.id = f.args_id WHERE f.apiName_id IN (" + others + "))";
    ROCHOUND_TRY(
        Rows rows,
        connection.Query(std::string("SELECT a.pid, a.tid, a.start, a.\"end\", a.id, o.id, o.start,"
                                     " o.\"end\", o.gpuId, o.queueId, s.number, t.number, f.string,"
                                     " a.apiName_id, o.opType_id, launch.submit FROM rocpd_op o") +
                         store::kJoinLaunch +
                         "JOIN rocpd_api a ON a.id = launch.api_id"
                         " LEFT JOIN rocpd_kernelapi k ON k.api_ptr_id = a.id"
                         " LEFT JOIN rocpd_copyapi c ON c.api_ptr_id = a.id"
                         " LEFT JOIN analysis_stream s ON s.stream = k.stream AND k.stream <> ''"
                         " LEFT JOIN analysis_stream t ON t.stream = c.stream"
                         " LEFT JOIN " +
                         other_args +
                         " f ON f.id = a.id"
                         " ORDER BY a.pid, a.start, a.id, launch.submit, o.id"));
    return OpSteps(std::move(rows), names, std::move(streams));
  }

  Result<bool> Next() {
    ROCHOUND_TRY(const bool more, rows_.Next());
    if (!more) return false;
    step_.kind = StepKind::kOp;
    step_.pid = rows_.Int(0);
    step_.tid = rows_.Int(1);
    step_.start = rows_.Int(2);
    step_.end = rows_.Int(3);
    step_.call = rows_.Int(4);
    step_.op = {.id = rows_.Int(5),
                .start = rows_.Int(6),
                .end = rows_.Int(7),
                .gpu = rows_.Int(8),
                .queue = rows_.Int(9)};
    const int known = !rows_.IsNull(10) ? 10 : !rows_.IsNull(11) ? 11 : 0;
    if (known != 0) {
      step_.stream = StreamHandle(streams_[static_cast<size_t>(rows_.Int(known))], step_.tid);
    } else if (!rows_.IsNull(12)) {
      step_.stream = StreamHandle(ArgumentOf(rows_.Text(12), "stream"), step_.tid);
    } else {
      // As good as a stream: what its queue does in order.
      step_.stream = StreamHandle(
          "queue " + std::to_string(step_.op.gpu) + " " + std::to_string(step_.op.queue),
          step_.tid);
    }
    step_.is_kernel = names_.text(names_.Of(rows_.Int(14))) == "KernelExecution";
    step_.waits_for = step_.writes = 0;
    const uint32_t call = names_.Of(rows_.Int(13));
    step_.submit =
        !rows_.IsNull(15) && call < waits_.size() && waits_[call] ? rows_.Int(15) : kNotSubmitted;
    if (!rows_.IsNull(12)) {
      const std::string& name = names_.text(call);
      const Handle address = StreamHandle(ArgumentOf(rows_.Text(12), "ptr"), step_.tid);
      if (WaitsForValue(name)) step_.waits_for = address;
      if (WritesValue(name)) step_.writes = address;
    }
    return true;
  }

  const Step& step() const { return step_; }

 private:
  OpSteps(Rows rows, const Names& names, std::vector<std::string> streams)
      : rows_(std::move(rows)), names_(names), streams_(std::move(streams)), waits_(names.size()) {
    for (uint32_t i = 0; i < names.size(); ++i) {
      const std::optional<StepOfName> step = StepOf(names.text(i));
      waits_[i] = step && step->kind == StepKind::kSyncStream;
    }
  }

  Rows rows_;
  const Names& names_;
  std::vector<std::string> streams_;
  std::vector<bool> waits_;  // by name: a call that waits for its stream, or may
  Step step_{};
};

// Calls that order streams or wait for them.
class CallSteps {
 public:
  static Result<CallSteps> Open(Connection& connection, const Names& names,
                                const HostThreads& threads, bool waiting) {
    const std::string wanted = names.IdsWhere([&](const std::string& text) {
      const std::optional<StepOfName> step = StepOf(text);
      return step && (waiting || !IsWaiting(step->kind));
    });
    const std::string with_arguments = names.IdsWhere([&](const std::string& text) {
      const std::optional<StepOfName> step = StepOf(text);
      return step && (waiting || !IsWaiting(step->kind)) && step->kind != StepKind::kSyncDevice &&
             step->kind != StepKind::kSyncMemory;
    });
    ROCHOUND_TRY(
        Rows rows,
        connection.Query("SELECT a.pid, a.tid, a.start, a.\"end\", a.id, a.apiName_id,"
                         " u.string, f.result FROM rocpd_api a LEFT JOIN " +
                         ArgumentsOf(with_arguments) +
                         " u ON u.id = a.args_id LEFT JOIN rochound_failure f ON f.api_id = a.id"
                         " WHERE a.apiName_id IN (" +
                         wanted + ") ORDER BY a.pid, a.start, a.id"));
    return CallSteps(std::move(rows), names, threads);
  }

  Result<bool> Next() {
    for (;;) {
      ROCHOUND_TRY(const bool more, rows_.Next());
      if (!more) return false;
      const uint32_t name = names_.Of(rows_.Int(5));
      const std::optional<StepOfName> known = StepOf(names_.text(name));
      if (!known.has_value()) continue;  // the query asks for no other
      step_ = {.kind = known->kind,
               .pid = rows_.Int(0),
               .tid = rows_.Int(1),
               .start = rows_.Int(2),
               .end = rows_.Int(3),
               .call = rows_.Int(4),
               .name = name,
               .sure = known->sure,
               .ready = rows_.IsNull(7)};
      if (IsWaiting(step_.kind) && !IsOutermost(name)) continue;
      const std::string_view args = rows_.Text(6);
      const bool creates = step_.kind == StepKind::kCreateStream;
      step_.stream = StreamHandle(ArgumentOf(args, creates ? "*stream" : "stream"), step_.tid);
      step_.event = StreamHandle(ArgumentOf(args, "event"), step_.tid);
      if (step_.kind == StepKind::kSetDevice) {
        const std::string_view device = ArgumentOf(args, "deviceId");  // cudaSetDevice: device
        const Handle number = StreamHandle(device.empty() ? ArgumentOf(args, "device") : device, 0);
        step_.device = static_cast<int64_t>(number);
      }
      const std::string_view flags = ArgumentOf(args, "flags");
      step_.blocking = flags.empty() || flags == "0";
      // A handle that was not seen says nothing about any stream.
      if (creates && step_.stream == kDefaultStream) continue;
      return true;
    }
  }

  const Step& step() const { return step_; }

 private:
  CallSteps(Rows rows, const Names& names, const HostThreads& threads)
      : rows_(std::move(rows)), names_(names), threads_(threads), next_(threads.threads().size()) {}

  // A call within another one with the same times and name is found second.
  bool IsOutermost(uint32_t name) {
    const uint32_t thread = threads_.Find(step_.pid, step_.tid);
    if (thread == kNoThread) return false;
    const size_t call = threads_.FindCall(thread, step_.start, step_.end, name, next_[thread]);
    if (call == threads_.size()) return false;
    next_[thread] = call + 1;
    return true;
  }

  Rows rows_;
  const Names& names_;
  const HostThreads& threads_;
  std::vector<size_t> next_;  // by thread: calls before this one have been told
  Step step_{};
};

}  // namespace

Result<void> ForEachStep(Connection& connection, const Names& names, const HostThreads& threads,
                         bool waiting, const std::function<void(const Step&)>& visit) {
  ROCHOUND_TRY(Connection other, connection.Sibling());
  ROCHOUND_TRY(CallSteps calls, CallSteps::Open(other, names, threads, waiting));
  ROCHOUND_TRY(OpSteps ops, OpSteps::Open(connection, names));
  ROCHOUND_TRY(bool has_op, ops.Next());
  ROCHOUND_TRY(bool has_call, calls.Next());
  while (has_op || has_call) {
    const auto key = [](const Step& step) { return std::tuple(step.pid, step.start, step.call); };
    const bool op_first = has_op && (!has_call || key(ops.step()) <= key(calls.step()));
    visit(op_first ? ops.step() : calls.step());
    ROCHOUND_TRY(const bool more, op_first ? ops.Next() : calls.Next());
    (op_first ? has_op : has_call) = more;
  }
  return {};
}

}  // namespace rochound::analysis
