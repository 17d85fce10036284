// SPDX-License-Identifier: MIT
#include "analysis/timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/timeline_rows.h"
#include "store/open/launching_call.h"
#include "store/open/streams.h"
#include "store/open/trace_tables.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Connection;
using store::duck::Rows;

// Names of the page, each once.
class NameList {
 public:
  explicit NameList(std::vector<std::string>& names) : names_(names) {}

  uint32_t Of(std::string_view text) {
    const auto [at, is_new] =
        numbers_.emplace(std::string(text), static_cast<uint32_t>(names_.size()));
    if (is_new) names_.emplace_back(text);
    return at->second;
  }

  // By the string's id, which spares a look at its text for all but the first.
  uint32_t Of(int64_t id, std::string_view text) {
    const auto known = ids_.find(id);
    if (known != ids_.end()) return known->second;
    const uint32_t number = Of(text);
    ids_.emplace(id, number);
    return number;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::unordered_map<int64_t, uint32_t> ids_;
};

std::string ThreadName(int64_t number) {
  return fmt::format("{}", number < store::kPidStride ? number : number % store::kPidStride);
}

std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<std::map<int64_t, std::string>> Names(Connection& connection, const std::string& sql) {
  std::map<int64_t, std::string> names;
  ROCHOUND_TRY(Rows rows, connection.Query(sql));
  while (true) {
    ROCHOUND_TRY(const bool any, rows.Next());
    if (!any) return names;
    names.emplace(rows.Int(0), std::string(rows.Text(1)));
  }
}

class Reader {
 public:
  Reader(Connection& connection, uint64_t most_events, Lanes lanes, Timeline& timeline)
      : connection_(connection),
        lanes_(lanes),
        rows_(most_events),
        names_(timeline.names),
        timeline_(timeline) {}

  Result<void> Read() {
    ROCHOUND_CHECK(ReadOperations());
    ROCHOUND_CHECK(ReadCalls());
    rows_.Finish(timeline_.tracks, timeline_.events);
    timeline_.quantum = rows_.quantum();
    for (const TimelineEvent& event : timeline_.events)
      timeline_.length = std::max(timeline_.length, event.end);
    Link();
    return {};
  }

 private:
  Result<void> ReadOperations() {
    ROCHOUND_TRY(products_, Names(connection_, R"(
        SELECT "gpuId", any_value(if(product = '', name, product)) FROM rochound_agent
        WHERE "gpuId" >= 0 GROUP BY "gpuId")"));
    ROCHOUND_TRY(const auto owners, Names(connection_, R"(
        SELECT session, CAST(pid AS VARCHAR) FROM rochound_process)"));
    if (lanes_ == Lanes::kStreams) {
      ROCHOUND_CHECK(store::FindStreams(connection_));
      ROCHOUND_CHECK(ReadStreams());
    }
    const std::string stream = lanes_ == Lanes::kStreams
                                   ? "(SELECT op_id, pid, stream FROM operation_stream)"
                                   : "(SELECT 0 AS op_id, 0 AS pid, 0 AS stream WHERE false)";
    ROCHOUND_TRY(Rows rows, connection_.Query(std::string(R"(
        SELECT o."gpuId", coalesce(s.pid, -1) AS pid, coalesce(s.stream, -1) AS stream,
               if(s.stream IS NULL, o."queueId", -1) AS queue, o."queueId",
               o.start, o."end", o.id, coalesce(launch.api_id, -1),
               if(d.string = '', o."opType_id", o.description_id),
               if(d.string = '', t.string, d.string), u.id IS NOT NULL AS unfinished,
               coalesce(k."gridX", 0), coalesce(k."gridY", 0), coalesce(k."gridZ", 0),
               coalesce(k."workgroupX", 0), coalesce(k."workgroupY", 0),
               coalesce(k."workgroupZ", 0), coalesce(k."groupSegmentSize", 0)
        FROM rocpd_op o
        JOIN rocpd_string d ON d.id = o.description_id
        JOIN rocpd_string t ON t.id = o."opType_id"
        )") + store::kJoinLaunch + "LEFT JOIN " +
                                              stream + R"( s ON s.op_id = o.id
        LEFT JOIN rochound_dispatch k ON k.op_id = o.id
        LEFT JOIN (SELECT id FROM rochound_unfinished WHERE what IN ('kernel', 'copy')) u ON u.id = o.id
        ORDER BY o."gpuId", s.stream IS NULL, s.pid, s.stream, queue, o.start, o."end" DESC, o.id)"));
    bool first = true;
    std::array<int64_t, 4> now{};  // gpu, pid, stream, queue
    std::set<int64_t> queues;
    const auto finish = [&] {
      if (first || now[2] < 0) return;
      TimelineTrack& track = timeline_.tracks.back();
      track.note +=
          fmt::format("queue{} {}", queues.size() == 1 ? "" : "s", fmt::join(queues, ", "));
      queues.clear();
    };
    while (true) {
      ROCHOUND_TRY(const bool any, rows.Next());
      if (!any) break;
      const std::array here{rows.Int(0), rows.Int(1), rows.Int(2), rows.Int(3)};
      if (first || now != here) {
        finish();
        first = false;
        now = here;
        const auto& [gpu, pid, number, queue] = now;
        TimelineTrack track{.gpu = gpu, .group = Group(GpuName(gpu), products_, gpu)};
        if (number < 0) {
          track.title = fmt::format("Queue {}", queue);
          const auto owner = owners.find(rows.Int(7) >> 32);
          if (owners.size() > 1 && owner != owners.end())
            track.title += ", process " + owner->second;
        } else {
          const Stream& stream = streams_[{pid, number}];
          track.title = stream.title;
          if (processes_ > 1) track.title += ", process " + ThreadName(pid);
          track.note = stream.handle.empty() ? "" : stream.handle + ", ";
        }
        Begin(std::move(track));
      }
      if (now[2] >= 0) queues.insert(rows.Int(4));
      rows_.Add({rows.Int(5) - timeline_.facts.begin, rows.Int(6) - timeline_.facts.begin,
                 rows.Int(7), rows.Int(8), names_.Of(rows.Int(9), rows.Text(10)), 1,
                 rows.Int(11) != 0,
                 ShapeOf({{rows.Int(12), rows.Int(13), rows.Int(14)},
                          {rows.Int(15), rows.Int(16), rows.Int(17)},
                          rows.Int(18)})});
    }
    finish();
    return {};
  }

  uint32_t ShapeOf(const TimelineShape& shape) {
    if (shape.grid[0] == 0 || shape.workgroup[0] == 0) return 0;
    const auto [at, is_new] =
        shapes_.emplace(shape, static_cast<uint32_t>(timeline_.shapes.size()));
    if (is_new) timeline_.shapes.push_back(shape);
    return at->second;
  }

  Result<void> ReadStreams() {
    ROCHOUND_TRY(Rows rows,
                 connection_.Query("SELECT pid, stream, handle, tid FROM stream_handle"));
    std::set<int64_t> processes;
    while (true) {
      ROCHOUND_TRY(const bool any, rows.Next());
      if (!any) break;
      processes.insert(rows.Int(0));
      Stream& stream = streams_[{rows.Int(0), rows.Int(1)}];
      if (!rows.IsNull(3)) {
        stream.title = "Default stream of thread " + ThreadName(rows.Int(3));
      } else if (rows.Int(1) == 0) {
        stream.title = "Default stream";
      } else if (!rows.Text(2).starts_with("0x")) {
        // PyTorch's profiler and rocprofv3 number streams: theirs is the number that people know.
        stream = {"Stream " + std::string(rows.Text(2)), ""};
      } else {
        stream = {fmt::format("Stream {}", rows.Int(1)), std::string(rows.Text(2))};
      }
    }
    processes_ = processes.size();
    return {};
  }

  // Names that threads were given. Others have the name of the main thread.
  Result<void> ReadThreadNames() {
    ROCHOUND_TRY(Rows rows, connection_.Query(R"(
        SELECT p.pid, try_cast(split_part(f.value, ',', 1) AS BIGINT),
               regexp_extract(f.value, '^[0-9]*,[0-9]*,(.*)$', 1, 's')
        FROM rochound_fact f JOIN rochound_process p USING (session)
        WHERE f.name IN ('thread', 'ended_thread'))"));
    while (true) {
      ROCHOUND_TRY(const bool any, rows.Next());
      if (!any) break;
      // The process's number says which node it was on; what it told of itself does not.
      const int64_t pid = rows.Int(0);
      thread_names_[{pid, pid - pid % store::kPidStride + rows.Int(1)}] = rows.Text(2);
    }
    std::erase_if(thread_names_, [main = thread_names_](const auto& thread) {
      const auto& [pid, tid] = thread.first;
      const auto found = main.find({pid, pid});
      return tid == pid || thread.second.empty() ||
             (found != main.end() && found->second == thread.second);
    });
    return {};
  }

  std::string ThreadTitle(int64_t pid, int64_t tid, bool ranges) const {
    const auto named = thread_names_.find({pid, tid});
    if (named != thread_names_.end())
      return fmt::format("{}{} ({})", ranges ? "Ranges of " : "", named->second, ThreadName(tid));
    return (ranges       ? "Ranges of thread "
            : tid == pid ? "Main thread "
                         : "Thread ") +
           ThreadName(tid);
  }

  // Ranges that may start and stop anywhere do not nest: they get tracks of their own.
  Result<void> ReadCalls() {
    ROCHOUND_TRY(executables_, Names(connection_, R"(
        SELECT pid, any_value(executable) FROM rochound_process GROUP BY pid)"));
    ROCHOUND_CHECK(ReadThreadNames());
    ROCHOUND_TRY(Rows rows, connection_.Query(R"(
        SELECT a.pid, a.tid, n.string = 'UserRange' AS free, a.start, a."end", a.id,
               d.string IN ('roctx', 'torch', 'python') AND u.string <> '' AS mark,
               a."apiName_id", n.string, u.string, f.id IS NOT NULL AS unfinished
        FROM rocpd_api a
        JOIN rocpd_string n ON n.id = a."apiName_id"
        JOIN rocpd_string d ON d.id = a.domain_id
        LEFT JOIN rocpd_ustring u
          ON u.id = a.args_id AND d.string IN ('roctx', 'torch', 'python')
        LEFT JOIN (SELECT id FROM rochound_unfinished WHERE what IN ('call', 'range')) f ON f.id = a.id
        WHERE d.string <> 'rochound'
        ORDER BY a.pid, a.tid, free, a.start, a."end" DESC, a.id)"));
    bool first = true;
    int64_t pid = 0, tid = 0, free = 0;
    first_thread_ = rows_.tracks();
    while (true) {
      ROCHOUND_TRY(const bool any, rows.Next());
      if (!any) break;
      if (first || pid != rows.Int(0) || tid != rows.Int(1) || free != rows.Int(2)) {
        first = false;
        pid = rows.Int(0);
        tid = rows.Int(1);
        free = rows.Int(2);
        Begin({.kind = TimelineTrack::Kind::kThread,
               .title = ThreadTitle(pid, tid, free != 0),
               .group = Group("process " + ThreadName(pid), executables_, pid)});
      }
      const uint32_t name =
          rows.Int(6) != 0 ? names_.Of(rows.Text(9)) : names_.Of(rows.Int(7), rows.Text(8));
      rows_.Add({rows.Int(3) - timeline_.facts.begin, rows.Int(4) - timeline_.facts.begin,
                 rows.Int(5), -1, name, 1, rows.Int(10) != 0});
    }
    return {};
  }

  static std::string Group(std::string name, const std::map<int64_t, std::string>& details,
                           int64_t key) {
    const auto found = details.find(key);
    if (found == details.end() || found->second.empty()) return name;
    return name + " · " + LastPart(found->second);
  }

  void Begin(TimelineTrack track) {
    timeline_.tracks.push_back(std::move(track));
    rows_.BeginTrack();
  }

  // From ids of calls to places of events.
  void Link() {
    std::vector<TimelineEvent>& events = timeline_.events;
    size_t first_call = 0;
    for (size_t i = 0; i < first_thread_; ++i) {
      for (const uint64_t row : timeline_.tracks[i].rows) first_call += row;
    }
    std::vector<std::pair<int64_t, int64_t>> calls;
    calls.reserve(events.size() - first_call);
    for (size_t i = first_call; i < events.size(); ++i) {
      calls.emplace_back(events[i].id, static_cast<int64_t>(i));
    }
    std::sort(calls.begin(), calls.end());
    for (size_t i = 0; i < first_call; ++i) {
      const auto found = std::lower_bound(calls.begin(), calls.end(),
                                          std::pair<int64_t, int64_t>(events[i].launch, -1));
      const bool known = found != calls.end() && found->first == events[i].launch;
      events[i].launch = known ? found->second : -1;
    }
  }

  struct Stream {
    std::string title, handle;
  };

  Connection& connection_;
  const Lanes lanes_;
  TimelineRows rows_;
  NameList names_;
  Timeline& timeline_;
  std::map<int64_t, std::string> products_, executables_;
  std::map<std::pair<int64_t, int64_t>, Stream> streams_;  // by process and number
  std::map<TimelineShape, uint32_t> shapes_;
  std::map<std::pair<int64_t, int64_t>, std::string> thread_names_;
  size_t processes_ = 0;  // that have streams
  size_t first_thread_ = 0;
};

}  // namespace

std::string GpuName(int64_t gpu) {
  if (gpu < store::kGpuStride) return fmt::format("GPU {}", gpu);
  return fmt::format("GPU {}, node {}", gpu % store::kGpuStride, gpu / store::kGpuStride);
}

Result<Timeline> ReadTimeline(store::TraceDatabase& trace, uint64_t most_events, Lanes lanes) {
  Timeline timeline;
  ROCHOUND_TRY(timeline.facts, ReadFacts(trace));
  ROCHOUND_CHECK(Reader(trace.connection(), most_events, lanes, timeline).Read());
  return timeline;
}

}  // namespace rochound::analysis
