// SPDX-License-Identifier: MIT
#include "analysis/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/timeline_rows.h"
#include "store/launching_call.h"
#include "store/trace_tables.h"

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

std::string GpuName(int64_t gpu) {
  if (gpu < store::kGpuStride) return fmt::format("GPU {}", gpu);
  return fmt::format("GPU {}, node {}", gpu % store::kGpuStride, gpu / store::kGpuStride);
}

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
  Reader(Connection& connection, uint64_t most_events, Timeline& timeline)
      : connection_(connection), rows_(most_events), names_(timeline.names), timeline_(timeline) {}

  Result<void> Read() {
    ROCHOUND_CHECK(ReadOperations());
    ROCHOUND_CHECK(ReadCalls());
    rows_.Finish(timeline_.tracks, timeline_.events);
    timeline_.quantum = rows_.quantum();
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
    ROCHOUND_TRY(Rows rows, connection_.Query(std::string(R"(
        SELECT o."gpuId", o."queueId", o.start, o."end", o.id, coalesce(launch.api_id, -1),
               if(d.string = '', o."opType_id", o.description_id),
               if(d.string = '', t.string, d.string)
        FROM rocpd_op o
        JOIN rocpd_string d ON d.id = o.description_id
        JOIN rocpd_string t ON t.id = o."opType_id" )") +
                                              store::kJoinLaunch + R"(
        ORDER BY o."gpuId", o."queueId", o.start, o."end" DESC, o.id)"));
    bool first = true;
    int64_t gpu = 0, queue = 0;
    while (true) {
      ROCHOUND_TRY(const bool any, rows.Next());
      if (!any) return {};
      if (first || gpu != rows.Int(0) || queue != rows.Int(1)) {
        first = false;
        gpu = rows.Int(0);
        queue = rows.Int(1);
        std::string name = fmt::format("Queue {}", queue);
        const auto owner = owners.find(rows.Int(4) >> 32);
        if (owners.size() > 1 && owner != owners.end()) name += ", process " + owner->second;
        Begin({TimelineTrack::Kind::kQueue,
               gpu,
               std::move(name),
               Group(GpuName(gpu), products_, gpu),
               {}});
      }
      rows_.Add({rows.Int(2) - timeline_.facts.begin, rows.Int(3) - timeline_.facts.begin,
                 rows.Int(4), rows.Int(5), names_.Of(rows.Int(6), rows.Text(7)), 1});
    }
  }

  // Ranges that may start and stop anywhere do not nest: they get tracks of their own.
  Result<void> ReadCalls() {
    ROCHOUND_TRY(executables_, Names(connection_, R"(
        SELECT pid, any_value(executable) FROM rochound_process GROUP BY pid)"));
    ROCHOUND_TRY(Rows rows, connection_.Query(R"(
        SELECT a.pid, a.tid, n.string = 'UserRange' AS free, a.start, a."end", a.id,
               d.string IN ('roctx', 'torch', 'python') AND u.string <> '' AS mark,
               a."apiName_id", n.string, u.string
        FROM rocpd_api a
        JOIN rocpd_string n ON n.id = a."apiName_id"
        JOIN rocpd_string d ON d.id = a.domain_id
        LEFT JOIN rocpd_ustring u
          ON u.id = a.args_id AND d.string IN ('roctx', 'torch', 'python')
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
        const std::string what = free != 0    ? "Ranges of thread "
                                 : tid == pid ? "Main thread "
                                              : "Thread ";
        Begin({TimelineTrack::Kind::kThread,
               -1,
               what + ThreadName(tid),
               Group("process " + ThreadName(pid), executables_, pid),
               {}});
      }
      const uint32_t name =
          rows.Int(6) != 0 ? names_.Of(rows.Text(9)) : names_.Of(rows.Int(7), rows.Text(8));
      rows_.Add({rows.Int(3) - timeline_.facts.begin, rows.Int(4) - timeline_.facts.begin,
                 rows.Int(5), -1, name, 1});
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

  Connection& connection_;
  TimelineRows rows_;
  NameList names_;
  Timeline& timeline_;
  std::map<int64_t, std::string> products_, executables_;
  size_t first_thread_ = 0;
};

}  // namespace

Result<Timeline> ReadTimeline(store::TraceDatabase& trace, uint64_t most_events) {
  Timeline timeline;
  ROCHOUND_TRY(timeline.facts, ReadFacts(trace));
  ROCHOUND_CHECK(Reader(trace.connection(), most_events, timeline).Read());
  return timeline;
}

}  // namespace rochound::analysis
