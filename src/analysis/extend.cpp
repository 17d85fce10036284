// SPDX-License-Identifier: MIT
#include "analysis/extend.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/autograd.h"
#include "analysis/call_stacks.h"
#include "analysis/graphs.h"
#include "store/open/duck.h"
#include "store/rpd/database.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::Database;
using store::Statement;
using store::duck::Appender;
using store::duck::Connection;
using store::duck::Rows;

constexpr std::string_view kQuestions[] = {"callstack", "graphs", "autograd"};

// --- what the file gets

constexpr const char* kCallTables = R"sql(
CREATE TABLE rochound_call (
  id INTEGER PRIMARY KEY, parent_id INTEGER, depth INTEGER,
  cpu_inclusive INTEGER, cpu_exclusive INTEGER, gpu_inclusive INTEGER, gpu_exclusive INTEGER);
)sql";

// RPD's ext_callstack has a row per call and caller above it, which grows with calls times depth;
// as a view it takes no room, and what people ask for does not go through it.
constexpr const char* kCallViews = R"sql(
CREATE VIEW ext_callstack AS
WITH RECURSIVE up(parent_id, child_id, depth) AS (
  SELECT id, id, 0 FROM rochound_call
  UNION ALL
  SELECT c.parent_id, up.child_id, up.depth + 1 FROM up JOIN rochound_call c ON c.id = up.parent_id
  WHERE c.parent_id IS NOT NULL)
SELECT row_number() OVER () AS id, up.parent_id, up.child_id, up.depth,
  c.cpu_exclusive AS cpu_time, c.gpu_exclusive AS gpu_time
FROM up JOIN rochound_call c ON c.id = up.child_id;

CREATE VIEW callStack_inclusive AS
SELECT id AS parent_id, cpu_inclusive AS cpu_time, gpu_inclusive AS gpu_time FROM rochound_call;
CREATE VIEW callStack_exclusive AS
SELECT id AS parent_id, cpu_exclusive AS cpu_time, gpu_exclusive AS gpu_time FROM rochound_call;
CREATE VIEW callStack_inclusive_name AS
SELECT c.id AS parent_id, a.apiName, a.args, c.cpu_inclusive AS cpu_time, c.gpu_inclusive AS gpu_time
FROM rochound_call c JOIN api a ON a.id = c.id;
CREATE VIEW callStack_exclusive_name AS
SELECT c.id AS parent_id, a.apiName, a.args, c.cpu_exclusive AS cpu_time, c.gpu_exclusive AS gpu_time
FROM rochound_call c JOIN api a ON a.id = c.id;
)sql";

constexpr const char* kGraphTables = R"sql(
CREATE TABLE ext_graph (
  "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "graph" varchar(18) NOT NULL, "graphExec" varchar(18) NOT NULL,
  "stream" varchar(18) NOT NULL, "start" integer NOT NULL, "end" integer NOT NULL);
CREATE TABLE rochound_graph_launch (
  api_id INTEGER PRIMARY KEY, graph_id INTEGER, graphExec TEXT, stream TEXT, gpuId INTEGER, queueId INTEGER,
  op_ns INTEGER, gpu_ns INTEGER);
CREATE TABLE rochound_graph_kernel (
  graph_id INTEGER, sequence INTEGER, op_id INTEGER, kernelName_id INTEGER, gridX INTEGER, gridY INTEGER,
  gridZ INTEGER, workgroupX INTEGER, workgroupY INTEGER, workgroupZ INTEGER, groupSegmentSize INTEGER,
  privateSegmentSize INTEGER, PRIMARY KEY (graph_id, sequence));
)sql";

// Times in microseconds, as RPD's.
constexpr const char* kGraphViews = R"sql(
CREATE VIEW graphLaunch AS
SELECT a.pid, a.tid, n.string AS apiName, l.graphExec, l.stream, l.gpuId, l.queueId,
  (a."end" - a.start) / 1000 AS apiDuration, l.op_ns / 1000 AS opDuration, l.gpu_ns / 1000 AS gpuTime
FROM rochound_graph_launch l
JOIN rocpd_api a ON a.id = l.api_id
JOIN rocpd_string n ON n.id = a.apiName_id
WHERE l.gpu_ns IS NOT NULL
ORDER BY a.start;

CREATE VIEW graphKernel AS
SELECT g.graphExec, k.sequence, n.string AS kernelName, k.gridX, k.gridY, k.gridZ, k.workgroupX, k.workgroupY,
  k.workgroupZ, k.groupSegmentSize, k.privateSegmentSize
FROM rochound_graph_kernel k
JOIN ext_graph g ON g.id = k.graph_id
JOIN rocpd_string n ON n.id = k.kernelName_id
ORDER BY k.graph_id, k.sequence;
)sql";

constexpr const char* kAutogradTables = R"sql(
CREATE TABLE ext_autogradapi (
  "api_ptr_id" integer NOT NULL PRIMARY KEY REFERENCES "rocpd_api" ("id") DEFERRABLE INITIALLY DEFERRED,
  "autogradName_id" integer NOT NULL REFERENCES "rocpd_string" ("id") DEFERRABLE INITIALLY DEFERRED,
  "seq" integer NOT NULL, "op_id" integer NOT NULL, "sizes" varchar(4096) NOT NULL,
  "input_op_ids" varchar(4096) NOT NULL);
CREATE TABLE rochound_autograd_call (api_id INTEGER PRIMARY KEY, autograd_id INTEGER);
)sql";

constexpr const char* kAutogradViews = R"sql(
CREATE VIEW autograd AS
SELECT a.id, pid, tid, start, "end", n.string AS autogradName, seq, op_id, sizes, input_op_ids
FROM ext_autogradapi g
JOIN rocpd_api a ON a.id = g.api_ptr_id
JOIN rocpd_string n ON n.id = g.autogradName_id;

CREATE VIEW autogradKernel AS
SELECT n.string AS autogradName, k.string AS kernelName, g.sizes, count(*) AS calls,
  avg(o."end" - o.start) AS avg_gpu, sum(o."end" - o.start) AS total_gpu
FROM rocpd_api_ops l
JOIN rochound_autograd_call c ON c.api_id = l.api_id
JOIN ext_autogradapi g ON g.api_ptr_id = c.autograd_id
JOIN rocpd_op o ON o.id = l.op_id
JOIN rocpd_string t ON t.id = o.opType_id AND t.string = 'KernelExecution'
JOIN rocpd_string n ON n.id = g.autogradName_id
JOIN rocpd_string k ON k.id = o.description_id
GROUP BY g.autogradName_id, o.description_id, g.sizes;
)sql";

// Everything that is made here, or by RPD's tools in its place.
constexpr std::string_view kCallNames[] = {"callStack_inclusive_name",
                                           "callStack_exclusive_name",
                                           "callStack_inclusive",
                                           "callStack_exclusive",
                                           "ext_callstack",
                                           "rochound_call"};
constexpr std::string_view kGraphNames[] = {"graphLaunch",           "graphKernel",
                                            "ext_graph_kernelapis",  "rochound_graph_launch",
                                            "rochound_graph_kernel", "ext_graph"};
constexpr std::string_view kAutogradNames[] = {"autogradKernel",
                                               "_autogradKernel",
                                               "_callstack_autograd_kernel_exclusive",
                                               "_callstack_autograd_kernel",
                                               "autograd",
                                               "rochound_autograd_call",
                                               "ext_autogradapi"};

Result<void> Drop(Database& file, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    ROCHOUND_TRY(Statement kind,
                 file.Prepare("SELECT type FROM sqlite_master WHERE name = ? COLLATE NOCASE"
                              " AND type IN ('table', 'view')"));
    kind.Bind(0, name);
    ROCHOUND_TRY(const bool there, kind.Step());
    if (!there) continue;
    const std::string type = kind.Text(0);
    kind.Reset();
    ROCHOUND_CHECK(file.Run("DROP " + type + " \"" + std::string(name) + "\""));
  }
  return {};
}

// Copies the rows of a query, whose columns are the table's, NULL for NULL.
Result<void> Copy(Connection& from, const std::string& sql, Database& file,
                  const std::string& table) {
  ROCHOUND_TRY(Rows rows, from.Query(sql));
  std::string places = "?";
  for (size_t i = 1; i < rows.columns(); ++i) places += ", ?";
  ROCHOUND_TRY(Statement insert, file.Prepare("INSERT INTO " + table + " VALUES (" + places + ")"));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return {};
    for (size_t i = 0; i < rows.columns(); ++i) {
      const int parameter = static_cast<int>(i);
      if (rows.IsNull(i)) {
        insert.BindNull(parameter);
      } else if (rows.kind(i) == store::duck::Kind::kText) {
        insert.Bind(parameter, rows.Text(i));
      } else {
        insert.Bind(parameter, rows.Int(i));
      }
    }
    ROCHOUND_CHECK(insert.Run());
  }
}

// --- what is found, before the file is touched

Result<void> FindCalls(Connection& connection) {
  ROCHOUND_CHECK(connection.Run(
      "CREATE SCHEMA IF NOT EXISTS found;"
      "CREATE OR REPLACE TABLE found.call (id BIGINT, parent_id BIGINT, depth BIGINT,"
      " cpu_inclusive BIGINT, cpu_exclusive BIGINT, gpu_inclusive BIGINT, gpu_exclusive BIGINT)"));
  ROCHOUND_TRY(Connection writer, connection.Sibling());
  ROCHOUND_TRY(Appender calls, writer.Append("found", "call"));
  const auto stacks = LoadCallStacks(connection, [&](const CallCost& call) {
    calls.Int(call.id);
    call.parent == kNoCall ? calls.Null() : calls.Int(call.parent);
    calls.Int(call.depth)
        .Int(call.cpu_inclusive)
        .Int(call.cpu_exclusive)
        .Int(call.gpu_inclusive)
        .Int(call.gpu_exclusive)
        .EndRow();
  });
  if (!stacks.ok()) return stacks.error();
  return calls.Finish();
}

Result<void> WriteCalls(Connection& found, Database& file) {
  ROCHOUND_CHECK(Drop(file, kCallNames));
  ROCHOUND_CHECK(file.Run(kCallTables));
  ROCHOUND_CHECK(Copy(found, "SELECT * FROM found.call ORDER BY id", file, "rochound_call"));
  return file.Run(kCallViews);
}

Result<void> WriteGraphs(Connection& found, Database& file) {
  ROCHOUND_CHECK(Drop(file, kGraphNames));
  ROCHOUND_CHECK(file.Run(kGraphTables));
  // Ids count from 1, as RPD's do.
  ROCHOUND_CHECK(
      found.Run("CREATE OR REPLACE TABLE found.graph_number AS SELECT id, row_number() OVER (ORDER "
                "BY start, id)"
                " AS number FROM found.graph"));
  ROCHOUND_CHECK(Copy(found,
                      "SELECT n.number, g.graph, g.\"graphExec\", g.stream, g.start, g.\"end\" FROM"
                      " found.graph g JOIN found.graph_number n USING (id) ORDER BY n.number",
                      file, "ext_graph"));
  ROCHOUND_CHECK(Copy(found,
                      "SELECT l.api_id, n.number, l.\"graphExec\", l.stream, l.\"gpuId\","
                      " l.\"queueId\", l.op_ns, l.gpu_ns FROM found.graph_launch l JOIN"
                      " found.graph_number n ON n.id = l.graph_id ORDER BY l.api_id",
                      file, "rochound_graph_launch"));
  ROCHOUND_CHECK(Copy(found,
                      "SELECT n.number, k.* EXCLUDE (graph_id) FROM found.graph_kernel k JOIN"
                      " found.graph_number n ON n.id = k.graph_id ORDER BY n.number, k.sequence",
                      file, "rochound_graph_kernel"));
  return file.Run(kGraphViews);
}

Result<void> WriteAutograd(Connection& found, Database& file) {
  ROCHOUND_CHECK(Drop(file, kAutogradNames));
  ROCHOUND_CHECK(file.Run(kAutogradTables));
  {
    ROCHOUND_TRY(Rows names, found.Query("SELECT DISTINCT name FROM found.autograd ORDER BY name"));
    ROCHOUND_TRY(Statement add,
                 file.Prepare("INSERT INTO rocpd_string(string) SELECT ?1 WHERE NOT EXISTS"
                              " (SELECT 1 FROM rocpd_string WHERE string = ?1)"));
    for (;;) {
      ROCHOUND_TRY(const bool more, names.Next());
      if (!more) break;
      add.Bind(0, names.Text(0));
      ROCHOUND_CHECK(add.Run());
    }
  }
  {
    ROCHOUND_TRY(Rows rows,
                 found.Query("SELECT id, name, seq, op_id, sizes, input_op_ids FROM found.autograd"
                             " ORDER BY id"));
    ROCHOUND_TRY(Statement insert,
                 file.Prepare("INSERT INTO ext_autogradapi SELECT ?1, min(id), ?3, ?4, ?5, ?6 FROM"
                              " rocpd_string WHERE string = ?2"));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      insert.Bind(0, rows.Int(0));
      insert.Bind(1, rows.Text(1));
      // RPD has an empty text where there is no number.
      for (const int number : {2, 3}) {
        if (rows.IsNull(static_cast<size_t>(number))) {
          insert.Bind(number, std::string_view());
        } else {
          insert.Bind(number, rows.Int(static_cast<size_t>(number)));
        }
      }
      insert.Bind(4, rows.Text(4));
      insert.Bind(5, rows.Text(5));
      ROCHOUND_CHECK(insert.Run());
    }
  }
  ROCHOUND_CHECK(Copy(found, "SELECT api_id, autograd_id FROM found.autograd_call ORDER BY api_id",
                      file, "rochound_autograd_call"));
  // RPD's clean-up of unused strings asks here which other tables use them.
  ROCHOUND_CHECK(file.Run(
      "INSERT INTO rocpd_metadata(tag, value) SELECT 'references::rocpd_string.id',"
      " '(\"ext_autogradapi\", \"autogradName_id\")' WHERE NOT EXISTS (SELECT 1 FROM rocpd_metadata"
      " WHERE value = '(\"ext_autogradapi\", \"autogradName_id\")')"));
  return file.Run(kAutogradViews);
}

}  // namespace

std::span<const std::string_view> ExtendingQuestions() { return kQuestions; }

Result<void> Extend(const std::filesystem::path& rpd, std::string_view question,
                    const store::OpenOptions& options) {
  if (std::find(std::begin(kQuestions), std::end(kQuestions), question) == std::end(kQuestions)) {
    return base::Error{
        "'" + std::string(question) +
        "' is not a question whose answer is written into a trace: callstack, graphs "
        "and autograd are"};
  }
  ROCHOUND_TRY(const store::SourceFormat format, store::DetectFormat(rpd));
  if (format != store::SourceFormat::kRpd) {
    return base::Error{"'" + rpd.string() + "' is a " + store::FormatName(format) +
                       " trace; only an .rpd can be written to: make one with 'rochound convert'"};
  }
  ROCHOUND_TRY(store::TraceDatabase trace, store::TraceDatabase::Open({rpd}, options));
  Connection& connection = trace.connection();
  const auto find = question == "callstack" ? FindCalls
                    : question == "graphs"  ? FindGraphs
                                            : FindAutograd;
  const auto write = question == "callstack" ? WriteCalls
                     : question == "graphs"  ? WriteGraphs
                                             : WriteAutograd;
  ROCHOUND_CHECK(find(connection));
  ROCHOUND_TRY(Database file, Database::Open(rpd, Database::Mode::kWrite));
  ROCHOUND_CHECK(file.Run("BEGIN IMMEDIATE"));
  if (auto written = write(connection, file); !written.ok()) {
    (void)file.Run("ROLLBACK").ok();
    return written.error().In("nothing was written into '" + rpd.string() + "'");
  }
  return file.Run("COMMIT");
}

}  // namespace rochound::analysis
