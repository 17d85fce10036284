// SPDX-License-Identifier: MIT
#include "store/export/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "store/open/launching_call.h"

namespace rochound::store {
namespace {

constexpr const char* kProcesses =
    "SELECT DISTINCT a.pid, coalesce(p.name, '') FROM rocpd_api a LEFT JOIN (SELECT pid, "
    "max(CASE WHEN executable = '' THEN command ELSE executable END) AS name FROM rochound_process "
    "GROUP BY pid) p ON p.pid = a.pid ORDER BY 1";

constexpr const char* kGpus =
    "SELECT DISTINCT o.\"gpuId\", coalesce(g.name, '') FROM rocpd_op o LEFT JOIN (SELECT "
    "\"gpuId\", "
    "max(CASE WHEN product = '' THEN name ELSE product END) AS name FROM rochound_agent "
    "WHERE \"gpuId\" IS NOT NULL GROUP BY \"gpuId\") g ON g.\"gpuId\" = o.\"gpuId\" ORDER BY 1";

// A row per operation of a call, those of one call one after the other.
const std::string kCalls =
    "SELECT a.id, a.pid, a.tid, a.start, a.\"end\", coalesce(d.string, ''), coalesce(c.string, "
    "''), "
    "coalesce(n.string, ''), coalesce(u.string, ''), coalesce(n.string, '') <> 'UserRange' AS "
    "nests, "
    "o.id FROM rocpd_api a "
    "LEFT JOIN rocpd_string d ON d.id = a.domain_id "
    "LEFT JOIN rocpd_string c ON c.id = a.category_id "
    "LEFT JOIN rocpd_string n ON n.id = a.\"apiName_id\" "
    "LEFT JOIN rocpd_ustring u ON u.id = a.args_id "
    "LEFT JOIN (SELECT o.id, o.start, launch.api_id FROM rocpd_op o" +
    std::string(kJoinLaunch) +
    ") o ON o.api_id = a.id AND o.start >= a.start "
    "ORDER BY a.pid, a.tid, nests DESC, a.start, a.\"end\" DESC, a.id, o.id";

const std::string kOperations =
    "SELECT o.id, o.\"gpuId\", o.\"queueId\", o.\"sequenceId\", o.start, o.\"end\", "
    "coalesce(nullif(n.string, ''), t.string, ''), coalesce(t.string, ''), coalesce(a.id, 0), "
    "x.op_id, x.\"gridX\", x.\"gridY\", x.\"gridZ\", x.\"workgroupX\", x.\"workgroupY\", "
    "x.\"workgroupZ\", x.\"groupSegmentSize\", x.\"privateSegmentSize\", y.op_id, y.size FROM "
    "rocpd_op o "
    "LEFT JOIN rocpd_string n ON n.id = o.description_id "
    "LEFT JOIN rocpd_string t ON t.id = o.\"opType_id\" " +
    std::string(kJoinLaunch) +
    "LEFT JOIN rocpd_api a ON a.id = launch.api_id AND a.start <= o.start "
    "LEFT JOIN rochound_dispatch x ON x.op_id = o.id LEFT JOIN rochound_copy y ON y.op_id = o.id "
    "ORDER BY o.\"gpuId\", o.\"queueId\", o.start, o.\"end\" DESC, o.id";

// What is not known to have been submitted earlier was submitted when it began.
constexpr const char* kDepths =
    "SELECT gpu, queue, time, sum(step)::BIGINT FROM ("
    "SELECT o.\"gpuId\" AS gpu, o.\"queueId\" AS queue, "
    "least(o.start, coalesce(x.submit, y.submit, o.start)) AS time, 1 AS step FROM rocpd_op o "
    "LEFT JOIN rochound_dispatch x ON x.op_id = o.id LEFT JOIN rochound_copy y ON y.op_id = o.id "
    "UNION ALL SELECT \"gpuId\", \"queueId\", greatest(start, \"end\"), -1 FROM rocpd_op) "
    "GROUP BY gpu, queue, time ORDER BY gpu, queue, time";

constexpr const char* kRunning =
    "SELECT gpu, time, sum(step)::BIGINT FROM ("
    "SELECT \"gpuId\" AS gpu, start AS time, 1 AS step FROM rocpd_op UNION ALL "
    "SELECT \"gpuId\", greatest(start, \"end\"), -1 FROM rocpd_op) "
    "GROUP BY gpu, time ORDER BY gpu, time";

class Walker {
 public:
  Walker(duck::Connection& connection, TimelineVisitor& visitor)
      : connection_(connection), visitor_(visitor) {}

  base::Result<void> Walk() {
    ROCHOUND_CHECK(Calls());
    ROCHOUND_CHECK(Operations());
    ROCHOUND_CHECK(Depths());
    return Running();
  }

 private:
  base::Result<std::map<int64_t, std::string>> Names(const char* sql) {
    std::map<int64_t, std::string> names;
    ROCHOUND_TRY(duck::Rows rows, connection_.Query(sql));
    while (true) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) return names;
      names[rows.Int(0)] = rows.Text(1);
    }
  }

  base::Result<void> Calls();
  base::Result<void> Operations();
  base::Result<void> Depths();
  base::Result<void> Running();

  duck::Connection& connection_;
  TimelineVisitor& visitor_;
};

base::Result<void> Walker::Calls() {
  ROCHOUND_TRY(const auto processes, Names(kProcesses));
  for (const auto& [pid, name] : processes) visitor_.OnProcess(pid, name);
  ROCHOUND_TRY(duck::Rows rows, connection_.Query(kCalls));
  // The call in flight: its texts have to outlive the rows it is gathered from.
  struct {
    int64_t id = 0, pid = 0, tid = 0, start = 0, end = 0;
    bool nests = false;
    std::string domain, category, name, args;
    std::vector<int64_t> operations;
  } now;
  bool any = false;
  std::pair<int64_t, int64_t> thread;
  Lanes nested(true), separate(false);
  const auto give = [&] {
    const int64_t end = std::max(now.start, now.end);
    const size_t lane = (now.nests ? nested : separate).Place(now.start, end);
    visitor_.OnCall({now.id, now.pid, now.tid, now.start, end, now.domain, now.category, now.name,
                     now.args, now.nests, lane, now.operations});
  };
  while (!visitor_.Enough()) {
    ROCHOUND_TRY(const bool more, rows.Next());
    const bool same = any && more && rows.Int(0) == now.id;
    if (any && !same) give();
    if (!more) break;
    if (!same) {
      now.id = rows.Int(0);
      now.pid = rows.Int(1);
      now.tid = rows.Int(2);
      now.start = rows.Int(3);
      now.end = rows.Int(4);
      now.domain = rows.Text(5);
      now.category = rows.Text(6);
      now.name = rows.Text(7);
      now.args = rows.Text(8);
      now.nests = rows.Int(9) != 0;
      now.operations.clear();
      if (!any || thread != std::pair(now.pid, now.tid)) {
        visitor_.OnThread(now.pid, now.tid);
        nested.Clear();
        separate.Clear();
      }
      thread = {now.pid, now.tid};
      any = true;
    }
    if (!rows.IsNull(10)) now.operations.push_back(rows.Int(10));
  }
  return {};
}

base::Result<void> Walker::Operations() {
  ROCHOUND_TRY(const auto gpus, Names(kGpus));
  for (const auto& [gpu, name] : gpus) visitor_.OnGpu(gpu, name);
  ROCHOUND_TRY(duck::Rows rows, connection_.Query(kOperations));
  std::pair<int64_t, int64_t> queue;
  bool any = false;
  Lanes lanes(false);
  while (!visitor_.Enough()) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    TimelineOperation operation{};
    operation.id = rows.Int(0);
    operation.gpu = rows.Int(1);
    operation.queue = rows.Int(2);
    operation.sequence = rows.Int(3);
    operation.start = rows.Int(4);
    operation.end = std::max(operation.start, rows.Int(5));
    operation.name = rows.Text(6);
    operation.type = rows.Text(7);
    operation.call = rows.Int(8);
    operation.is_kernel = !rows.IsNull(9);
    for (size_t i = 0; i < 3; ++i) {
      operation.grid[i] = rows.Int(10 + i);
      operation.workgroup[i] = rows.Int(13 + i);
    }
    operation.group_bytes = rows.Int(16);
    operation.private_bytes = rows.Int(17);
    operation.is_copy = !rows.IsNull(18);
    operation.size = rows.Int(19);
    if (!any || queue != std::pair(operation.gpu, operation.queue)) {
      visitor_.OnQueue(operation.gpu, operation.queue);
      lanes.Clear();
    }
    any = true;
    queue = {operation.gpu, operation.queue};
    operation.lane = lanes.Place(operation.start, operation.end);
    visitor_.OnOperation(operation);
  }
  return {};
}

base::Result<void> Walker::Depths() {
  ROCHOUND_TRY(duck::Rows rows, connection_.Query(kDepths));
  std::pair<int64_t, int64_t> queue;
  int64_t depth = 0;
  bool any = false;
  while (!visitor_.Enough()) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    const std::pair here(rows.Int(0), rows.Int(1));
    if (!any || queue != here) depth = 0;
    any = true;
    queue = here;
    if (rows.Int(3) == 0) continue;  // as many came as went
    depth += rows.Int(3);
    visitor_.OnQueueDepth(queue.first, queue.second, rows.Int(2), depth);
  }
  return {};
}

base::Result<void> Walker::Running() {
  ROCHOUND_TRY(duck::Rows rows, connection_.Query(kRunning));
  int64_t gpu = 0, count = 0;
  bool any = false;
  while (!visitor_.Enough()) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    if (!any || gpu != rows.Int(0)) count = 0;
    any = true;
    gpu = rows.Int(0);
    if (rows.Int(2) == 0) continue;
    count += rows.Int(2);
    visitor_.OnRunning(gpu, rows.Int(1), count);
  }
  return {};
}

}  // namespace

size_t Lanes::Place(int64_t start, int64_t end) {
  for (size_t lane = 0;; ++lane) {
    if (lane == open_.size()) open_.emplace_back();
    std::vector<int64_t>& ends = open_[lane];
    while (!ends.empty() && ends.back() <= start) ends.pop_back();
    if (lane + 1 == kMost) ends.clear();
    if (ends.empty() || (nesting_ && end <= ends.back())) {
      ends.push_back(end);
      return lane;
    }
  }
}

base::Result<void> WalkTimeline(TraceDatabase& trace, TimelineVisitor& visitor) {
  return Walker(trace.connection(), visitor).Walk();
}

}  // namespace rochound::store
