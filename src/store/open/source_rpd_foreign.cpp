// SPDX-License-Identifier: MIT
#include "store/open/source_rpd_foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store/convert/names.h"
#include "store/open/foreign_names.h"
#include "store/open/foreign_sqlite.h"
#include "store/open/trace_tables.h"
#include "store/open/unrecorded_copies.h"

namespace rochound::store {
namespace {

using Column = ForeignColumn;

constexpr Column kMetadata[] = {{"id"}, {"tag", Column::kText}, {"value", Column::kText}};
constexpr Column kRpdString[] = {{"id"}, {"string", Column::kText}};
constexpr Column kApi[] = {{"id"},
                           {"pid"},
                           {"tid"},
                           {"start"},
                           {"end"},
                           {"apiName_id"},
                           {"category_id", Column::kInteger, "NULL"},
                           {"domain_id", Column::kInteger, "NULL"},
                           {"args_id"}};
constexpr Column kOp[] = {{"id"},    {"gpuId"}, {"queueId"},        {"sequenceId"},
                          {"start"}, {"end"},   {"description_id"}, {"opType_id"}};
constexpr Column kApiOps[] = {{"id"}, {"api_id"}, {"op_id"}};
constexpr Column kKernelApi[] = {{"api_ptr_id"},
                                 {"stream", Column::kText, "''"},
                                 {"gridX"},
                                 {"gridY"},
                                 {"gridZ"},
                                 {"workgroupX"},
                                 {"workgroupY"},
                                 {"workgroupZ"},
                                 {"groupSegmentSize"},
                                 {"privateSegmentSize"},
                                 {"kernelName_id"}};
constexpr Column kCopyApi[] = {{"api_ptr_id"},
                               {"stream", Column::kText, "''"},
                               {"size"},
                               {"width"},
                               {"height"},
                               {"kind"},
                               {"dst", Column::kText},
                               {"src", Column::kText},
                               {"dstDevice"},
                               {"srcDevice"},
                               {"sync"},
                               {"pinned"}};
constexpr Column kMonitor[] = {
    {"id"},  {"deviceType", Column::kText}, {"deviceId"}, {"monitorType", Column::kText}, {"start"},
    {"end"}, {"value", Column::kText}};
constexpr Column kCounter[] = {{"id"}, {"value", Column::kReal}, {"op_id"}, {"name_id"}};
constexpr Column kStackFrame[] = {{"id"}, {"api_ptr_id"}, {"depth"}, {"name_id"}};

// The same tables in both versions, and ours to read as they are.
struct Plain {
  const char* table;
  std::span<const Column> columns;
};
constexpr Plain kPlain[] = {{"rocpd_api_ops", kApiOps},  {"rocpd_kernelapi", kKernelApi},
                            {"rocpd_copyapi", kCopyApi}, {"rocpd_monitor", kMonitor},
                            {"rocpd_counter", kCounter}, {"rocpd_stackframe", kStackFrame}};

class Attacher {
 public:
  Attacher(duck::Connection& connection, ForeignSqlite& file, const std::string& schema)
      : connection_(connection),
        file_(file),
        name_(schema),
        schema_(duck::Identifier(schema)),
        raw_(duck::Identifier(schema + "_raw")) {}

  base::Result<void> Run();

 private:
  base::Result<void> View(const char* table, const std::string& select);
  base::Result<void> AddMetadata();
  base::Result<void> AddStrings();
  base::Result<void> AddCallKinds();
  base::Result<void> AddRangeTexts(const std::string& ustrings);
  base::Result<std::string> GpuNumber(const std::string& op);
  base::Result<void> AddApi();
  base::Result<void> AddOp();
  base::Result<void> AddOperations();
  base::Result<void> AddProcesses();
  base::Result<void> TellLosses();
  base::Result<void> Lost(const std::string& what, const std::string& count_sql,
                          const std::string& note);
  int64_t String(const std::string& text);

  duck::Connection& connection_;
  ForeignSqlite& file_;
  std::string name_;
  std::string schema_;
  std::string raw_;  // what the views need beside the file
  bool has_ustrings_ = false;
  std::string api_;
  std::map<std::string, int64_t> added_;  // strings of ours
  int64_t last_string_ = 0;
  int64_t losses_ = 0;
};

base::Result<void> Attacher::View(const char* table, const std::string& select) {
  return connection_.Run("CREATE VIEW " + schema_ + "." + table + " AS " + select);
}

int64_t Attacher::String(const std::string& text) {
  const auto [found, added] = added_.try_emplace(text, last_string_ + 1);
  if (added) ++last_string_;
  return found->second;
}

// These are tables of version 3 now, whatever they were.
base::Result<void> Attacher::AddMetadata() {
  ROCHOUND_TRY(const std::string rows, file_.Select("rocpd_metadata", kMetadata));
  ROCHOUND_CHECK(connection_.Run(CreateTable(name_, *FindTraceTable("rocpd_metadata"))));
  return connection_.Run(fmt::format(
      "INSERT INTO {0}.rocpd_metadata SELECT row_number() OVER (), tag, value FROM (SELECT tag, "
      "value "
      "FROM {1} WHERE tag NOT IN ('gpu_stride', 'pid_stride', 'schema_version') UNION ALL VALUES "
      "('gpu_stride', '{2}'), ('pid_stride', '{3}'), ('schema_version', '3'))",
      schema_, rows, kGpuStride, kPidStride));
}

base::Result<void> Attacher::AddStrings() {
  ROCHOUND_TRY(const std::string strings, file_.Select("rocpd_string", kRpdString));
  ROCHOUND_TRY(last_string_, connection_.Number("SELECT max(id) FROM " + strings));
  ROCHOUND_CHECK(
      connection_.Run("CREATE TABLE " + raw_ + ".added_string (id BIGINT, string VARCHAR);"));
  return View("rocpd_string", "SELECT id, string FROM " + strings +
                                  " UNION ALL SELECT id, string FROM " + raw_ + ".added_string");
}

// Each name that a call has, with the domain and category that its calls belong to. RPD leaves the
// category empty, and version 2 knows neither.
base::Result<void> Attacher::AddCallKinds() {
  ROCHOUND_CHECK(connection_.Run(
      "CREATE TABLE " + raw_ +
      ".call_kind (name_id BIGINT, domain_id BIGINT, category_id BIGINT, is_range BIGINT);"));
  std::vector<std::pair<int64_t, std::string>> names;
  {
    ROCHOUND_TRY(
        duck::Rows rows,
        connection_.Query("SELECT s.id, s.string FROM " + schema_ +
                          ".rocpd_string s WHERE s.id IN (SELECT DISTINCT \"apiName_id\" FROM " +
                          api_ + ")"));
    while (true) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      names.emplace_back(rows.Int(0), rows.Text(1));
    }
  }
  ROCHOUND_TRY(duck::Appender appender, connection_.Append(name_ + "_raw", "call_kind"));
  for (const auto& [id, name] : names) {
    CallKind kind = KindOfCall(name);
    // A name that no runtime has is one that the program gave a range.
    const bool is_range = kind.domain.empty();
    if (is_range) kind.domain = "roctx";
    appender.Int(id).Int(String(kind.domain)).Int(String(kind.category)).Int(is_range ? 1 : 0);
    appender.EndRow();
  }
  return appender.Finish();
}

// A range that carries its name where calls have theirs: here its text is its name, and what was
// given beside it.
base::Result<void> Attacher::AddRangeTexts(const std::string& ustrings) {
  ROCHOUND_TRY(const int64_t last,
               connection_.Number("SELECT coalesce(max(id), 0) FROM " + ustrings));
  return connection_.Run(fmt::format(
      "CREATE TABLE {0}.range_text AS SELECT name_id, args_id, string, row_number() OVER () + {1} "
      "AS id FROM (SELECT DISTINCT k.name_id, a.args_id, "
      "left(n.string || if(coalesce(u.string, '') = '', '', ' ' || u.string), 4096) AS string "
      "FROM {2} a JOIN {0}.call_kind k ON k.name_id = a.\"apiName_id\" AND k.is_range = 1 "
      "JOIN {3}.rocpd_string n ON n.id = k.name_id LEFT JOIN {4} u ON u.id = a.args_id)",
      raw_, last + 1, api_, schema_, ustrings));
}

base::Result<void> Attacher::AddApi() {
  has_ustrings_ = file_.Has("rocpd_ustring");
  ROCHOUND_TRY(api_, file_.Select("rocpd_api", kApi));
  ROCHOUND_CHECK(AddCallKinds());
  // Version 2 keeps arguments among the other strings.
  ROCHOUND_TRY(const std::string ustrings,
               file_.Select(has_ustrings_ ? "rocpd_ustring" : "rocpd_string", kRpdString));
  const int64_t none = String("");
  const int64_t marker = String("UserMarker");
  ROCHOUND_CHECK(AddRangeTexts(ustrings));
  // RPD's markers may name their arguments by a row that is not there; a join would lose them.
  ROCHOUND_TRY(const int64_t dangling,
               connection_.Number("SELECT count(*) FROM " + api_ + " a ANTI JOIN " + ustrings +
                                  " u ON u.id = a.args_id"));
  const std::string select = fmt::format(
      "SELECT a.id, pid, tid, start, \"end\", "
      "if(r.id IS NULL, \"apiName_id\", {6}) AS \"apiName_id\", "
      "coalesce(nullif(k.category_id, {0}), c.id, {0}) AS category_id, "
      "coalesce(k.domain_id, d.id, {0}) AS domain_id, coalesce(r.id, {1}) AS args_id FROM {2} a "
      "LEFT JOIN {5}.call_kind k ON k.name_id = a.\"apiName_id\" "
      "LEFT JOIN {5}.range_text r ON r.name_id = a.\"apiName_id\" AND r.args_id = a.args_id "
      "LEFT JOIN {3}.rocpd_string c ON c.id = a.category_id "
      "LEFT JOIN {3}.rocpd_string d ON d.id = a.domain_id{4}",
      none, dangling > 0 ? fmt::format("coalesce(u.id, {})", none) : "a.args_id", api_, schema_,
      dangling > 0 ? " LEFT JOIN " + ustrings + " u ON u.id = a.args_id" : "", raw_, marker);
  ROCHOUND_CHECK(View("rocpd_api", select));
  return View("rocpd_ustring",
              "SELECT id, string FROM " + ustrings +
                  fmt::format(" UNION ALL SELECT {}, '' UNION ALL SELECT id, string FROM "
                              "{}.range_text",
                              none, raw_));
}

// RPD counts the nodes of the kernel driver, of which 0 is a CPU: the GPUs are numbered in their
// order, as HIP does.
base::Result<std::string> Attacher::GpuNumber(const std::string& op) {
  ROCHOUND_TRY(duck::Rows rows,
               connection_.Query("SELECT DISTINCT \"gpuId\" FROM " + op + " ORDER BY 1"));
  std::string cases;
  int64_t number = 0;
  while (true) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    if (number == 0 && rows.Int(0) <= 0) return std::string();
    cases += fmt::format(" WHEN {} THEN {}", rows.Int(0), number++);
  }
  return cases.empty() ? cases : "CASE \"gpuId\"" + cases + " END AS \"gpuId\"";
}

// RPD's types of copies depend on what it got them from; they are given our names.
base::Result<void> Attacher::AddOp() {
  ROCHOUND_TRY(const std::string op, file_.Select("rocpd_op", kOp));
  std::string cases;
  {
    ROCHOUND_TRY(
        duck::Rows rows,
        connection_.Query(fmt::format(
            "SELECT o.\"opType_id\", o.description_id, t.string, coalesce(d.string, '') FROM "
            "(SELECT DISTINCT \"opType_id\", description_id FROM {0}) o "
            "JOIN {1}.rocpd_string t ON t.id = o.\"opType_id\" "
            "LEFT JOIN {1}.rocpd_string d ON d.id = o.description_id "
            "WHERE t.string IN ('Memcpy', 'Memset') OR t.string LIKE 'MEMORY_COPY%'",
            op, schema_)));
    while (true) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      CopyDirection direction = DirectionOf(rows.Text(2));
      if (direction == CopyDirection::kUnknown) direction = DirectionOf(rows.Text(3));
      const std::string_view name =
          rows.Text(2) == "Memset" ? "FillBuffer" : OperationOfCopy(direction);
      cases += fmt::format(" WHEN \"opType_id\" = {} AND description_id = {} THEN {}", rows.Int(0),
                           rows.Int(1), String(std::string(name)));
    }
  }
  ROCHOUND_TRY(std::string replaced, GpuNumber(op));
  if (!cases.empty())
    replaced +=
        (replaced.empty() ? "CASE" : ", CASE") + cases + " ELSE \"opType_id\" END AS \"opType_id\"";
  return View(
      "rocpd_op",
      "SELECT *" + (replaced.empty() ? replaced : " REPLACE (" + replaced + ")") + " FROM " + op);
}

// One row per dispatch and per copy. What the call tells is true of its first operation of that
// kind; RPD keeps no more.
base::Result<void> Attacher::AddOperations() {
  for (const char* name : {"rochound_kernel", "rochound_dispatch", "rochound_copy"})
    ROCHOUND_CHECK(connection_.Run(CreateTable(name_, *FindTraceTable(name))));
  return connection_.Run(fmt::format(R"(
    CREATE TABLE {1}.linked AS
      SELECT o.id AS op_id, l.api_id, o."gpuId", o."queueId", o.start, o.description_id,
             t.string AS type,
             -- Work may start before its call returns, the kernels of a graph above all.
             if(a.id IS NULL, NULL, greatest(a.start, least(a."end", o.start))) AS submit,
             t.string IS NOT NULL AND t.string IN ('KernelExecution', 'Task') AS is_kernel
      FROM {0}.rocpd_op o
      LEFT JOIN (SELECT op_id, min(api_id) AS api_id FROM {0}.rocpd_api_ops GROUP BY op_id) l
        ON l.op_id = o.id
      LEFT JOIN {0}.rocpd_api a ON a.id = l.api_id
      LEFT JOIN {0}.rocpd_string t ON t.id = o."opType_id";
    INSERT INTO {0}.rochound_kernel
      SELECT row_number() OVER (ORDER BY description_id), description_id, description_id, 0, 0, 0,
             min("gpuId")
      FROM {1}.linked WHERE is_kernel GROUP BY description_id;
    INSERT INTO {0}.rochound_dispatch
      SELECT l.op_id, l.api_id, k.id, coalesce(c."gridX", 0), coalesce(c."gridY", 0),
             coalesce(c."gridZ", 0), coalesce(c."workgroupX", 0), coalesce(c."workgroupY", 0),
             coalesce(c."workgroupZ", 0), coalesce(c."groupSegmentSize", 0),
             coalesce(c."privateSegmentSize", 0), l."queueId", l."gpuId", l.submit, 1
      FROM {1}.linked l JOIN {0}.rochound_kernel k ON k.name_id = l.description_id
      LEFT JOIN {0}.rocpd_kernelapi c ON c.api_ptr_id = l.api_id
      WHERE l.is_kernel ORDER BY l.op_id;
    -- -1: not known, and so is what a copy without a row of its own moved.
    INSERT INTO {0}.rochound_copy
      SELECT l.op_id, l.api_id, coalesce(c.size, 0), coalesce(c."srcDevice", -1),
             coalesce(c."dstDevice", -1), coalesce(TRY_CAST(c.src AS BIGINT), 0),
             coalesce(TRY_CAST(c.dst AS BIGINT), 0), coalesce(c.width, 0), coalesce(c.height, 0),
             l.submit, 1
      FROM {1}.linked l LEFT JOIN {0}.rocpd_copyapi c ON c.api_ptr_id = l.api_id
      WHERE l.type LIKE 'Copy%' OR l.type LIKE 'Fill%' ORDER BY l.op_id;
    )",
                                     schema_, raw_));
}

base::Result<void> Attacher::AddProcesses() {
  for (const char* name :
       {"rochound_process", "rochound_agent", "rochound_queue", "rochound_allocation",
        "rochound_failure", "rochound_fact", "rochound_lost", "rochound_unrecorded",
        "rochound_swap", "rochound_unfinished"})
    ROCHOUND_CHECK(connection_.Run(CreateTable(name_, *FindTraceTable(name))));
  return connection_.Run(fmt::format(R"(
    -- A session is a run of one process; the one that did most is named where several share it.
    INSERT INTO {0}.rochound_process
      SELECT s.session, coalesce(p.pid, 0), 0, '', '', '', s.start, s."end", s.calls,
             (SELECT count(*) FROM {0}.rochound_dispatch WHERE op_id >> 32 = s.session),
             (SELECT count(*) FROM {0}.rochound_copy WHERE op_id >> 32 = s.session), ''
      FROM (SELECT session, min(start) AS start, max("end") AS "end", sum(call)::BIGINT AS calls
            FROM (SELECT id >> 32 AS session, start, "end", 1 AS call FROM {0}.rocpd_api UNION ALL
                  SELECT id >> 32, start, "end", 0 FROM {0}.rocpd_op)
            GROUP BY session) s
      LEFT JOIN (SELECT id >> 32 AS session, mode(pid) AS pid FROM {0}.rocpd_api GROUP BY 1) p
        USING (session)
      ORDER BY s.session;
    INSERT INTO {0}.rochound_agent
      SELECT DISTINCT op_id >> 32, "gpuId", "gpuId", 'gpu', '', '', '', "gpuId"
      FROM {1}.linked ORDER BY 1, 2;
    INSERT INTO {0}.rochound_queue
      SELECT op_id >> 32, "queueId", min("gpuId"), "queueId", 0, min(start)
      FROM {1}.linked GROUP BY 1, 2 ORDER BY 1, 2;
    )",
                                     schema_, raw_));
}

base::Result<void> Attacher::Lost(const std::string& what, const std::string& count_sql,
                                  const std::string& note) {
  ROCHOUND_TRY(const int64_t count, connection_.Number(count_sql));
  if (count == 0) return {};
  return connection_.Run(fmt::format("INSERT INTO {}.rochound_lost VALUES ({}, 0, {}, {}, {})",
                                     schema_, ++losses_, duck::Literal(what), count,
                                     duck::Literal(note)));
}

base::Result<void> Attacher::TellLosses() {
  const std::string s = schema_;
  ROCHOUND_CHECK(Lost("names",
                      "SELECT count(*) FROM " + s + ".rocpd_api a ANTI JOIN " + s +
                          ".rocpd_string n ON n.id = a.\"apiName_id\"",
                      "calls whose name is not in the file"));
  ROCHOUND_CHECK(Lost("names",
                      "SELECT count(*) FROM " + s + ".rocpd_op a ANTI JOIN " + s +
                          ".rocpd_string n ON n.id = a.description_id",
                      "operations whose description is not in the file"));
  ROCHOUND_CHECK(Lost("operations",
                      "SELECT count(*) FROM " + s + ".rocpd_api_ops l ANTI JOIN " + s +
                          ".rocpd_op o ON o.id = l.op_id",
                      "belong to calls and are not in the file"));
  ROCHOUND_CHECK(Lost("calls",
                      "SELECT count(*) FROM " + s + ".rocpd_api_ops l ANTI JOIN " + s +
                          ".rocpd_api a ON a.id = l.api_id",
                      "started operations and are not in the file"));
  ROCHOUND_CHECK(Lost("true times",
                      "SELECT count(*) FROM (SELECT start, \"end\" FROM " + s +
                          ".rocpd_api UNION ALL SELECT start, \"end\" FROM " + s +
                          ".rocpd_op) WHERE \"end\" < start OR start IS NULL OR \"end\" IS NULL",
                      "ends before it starts"));
  if (file_.Has("rocpd_copyapi")) {
    ROCHOUND_TRY(const int64_t sizes,
                 file_.database().Number("SELECT count(*) FROM rocpd_copyapi WHERE size = ''"));
    ROCHOUND_CHECK(Lost("sizes of copies", "SELECT " + std::to_string(sizes),
                        "left empty by RPD; taken as 0 bytes"));
  }
  ROCHOUND_CHECK(Lost("values", "SELECT " + std::to_string(file_.wrong_rows()),
                      "rows with something else where a number belongs"));
  ROCHOUND_CHECK(Lost("texts", "SELECT " + std::to_string(file_.mended_rows()),
                      "bytes that are no UTF-8 were replaced"));
  // Tables of version 2 that version 3 dropped, and that nothing here stands for.
  for (const char* table : {"rocpd_barrierop", "rocpd_op_inputSignals"}) {
    if (!file_.Has(table)) continue;
    ROCHOUND_TRY(const int64_t rows,
                 file_.database().Number(std::string("SELECT count(*) FROM ") + table));
    ROCHOUND_CHECK(Lost("rows of RPD's version 2", "SELECT " + std::to_string(rows),
                        std::string(table) + " is not read"));
  }
  return TellUnrecordedCopies(connection_, name_);
}

base::Result<void> Attacher::Run() {
  ROCHOUND_CHECK(
      connection_.Run("CREATE SCHEMA IF NOT EXISTS " + schema_ + "; CREATE SCHEMA " + raw_));
  ROCHOUND_CHECK(AddMetadata());
  ROCHOUND_CHECK(AddStrings());
  ROCHOUND_CHECK(AddApi());
  ROCHOUND_CHECK(AddOp());
  for (const Plain& plain : kPlain) {
    ROCHOUND_TRY(const std::string select, file_.Select(plain.table, plain.columns));
    ROCHOUND_CHECK(View(plain.table, "SELECT * FROM " + select));
  }
  for (const auto& [text, id] : added_)
    ROCHOUND_CHECK(connection_.Run(
        fmt::format("INSERT INTO {}.added_string VALUES ({}, {})", raw_, id, duck::Literal(text))));
  ROCHOUND_CHECK(AddOperations());
  ROCHOUND_CHECK(AddProcesses());
  return TellLosses();
}

}  // namespace

base::Result<SourceFacts> AttachForeignRpd(duck::Connection& connection,
                                           const std::filesystem::path& path,
                                           const std::string& schema) {
  ROCHOUND_TRY(ForeignSqlite file, ForeignSqlite::Attach(connection, path, schema + "_file"));
  // One transaction: for each, DuckDB opens the file and reads its schema anew.
  ROCHOUND_CHECK(connection.Run("BEGIN"));
  if (auto done = Attacher(connection, file, schema).Run(); !done.ok()) {
    (void)connection.Run("ROLLBACK").ok();
    return done.error().In("'" + path.string() + "'");
  }
  ROCHOUND_CHECK(connection.Run("COMMIT"));
  ROCHOUND_CHECK(connection.Run("DROP TABLE " + duck::Identifier(schema + "_raw") + ".linked"));
  return FactsOf(connection, schema);
}

}  // namespace rochound::store
