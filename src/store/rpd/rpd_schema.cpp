// SPDX-License-Identifier: MIT
#include "store/rpd/rpd_schema.h"

#include <optional>
#include <type_traits>

#include "store/rpd/trace_schema.h"

// Columns that name a row of another table, as RPD declares them.
#define ROW_ID "\"id\" integer NOT NULL PRIMARY KEY AUTOINCREMENT"
#define REFERS(column, table) \
  "\"" column "\" bigint NOT NULL REFERENCES \"" table "\" (\"id\") DEFERRABLE INITIALLY DEFERRED"
#define STRING_ID(column) REFERS(column, "rocpd_string")
#define API_KEY                                                                              \
  "\"api_ptr_id\" bigint NOT NULL PRIMARY KEY REFERENCES \"rocpd_api\" (\"id\") DEFERRABLE " \
  "INITIALLY DEFERRED"
#define INT(column) "\"" column "\" integer NOT NULL"
#define TEXT(column, width) "\"" column "\" varchar(" width ") NOT NULL"
#define TABLE(name) "CREATE TABLE \"" name "\" ("

namespace rochound::store {

// clang-format off
const char* const kRpdTables =
    TABLE("rocpd_metadata") ROW_ID ", " TEXT("tag", "4096") ", " TEXT("value", "4096") ");"
    TABLE("rocpd_string") ROW_ID ", " TEXT("string", "4096") ");"
    TABLE("rocpd_ustring") ROW_ID ", " TEXT("string", "4096") ");"
    TABLE("rocpd_api") ROW_ID ", " INT("pid") ", " INT("tid") ", " INT("start") ", " INT("end") ", "
        STRING_ID("apiName_id") ", " STRING_ID("category_id") ", " STRING_ID("domain_id") ", "
        REFERS("args_id", "rocpd_ustring") ");"
    TABLE("rocpd_copyapi") API_KEY ", " TEXT("stream", "18") ", " INT("size") ", " INT("width") ", "
        INT("height") ", " INT("kind") ", " TEXT("dst", "18") ", " TEXT("src", "18") ", "
        INT("dstDevice") ", " INT("srcDevice") ", \"sync\" bool NOT NULL, \"pinned\" bool NOT NULL);"
    TABLE("rocpd_kernelapi") API_KEY ", " TEXT("stream", "18") ", " INT("gridX") ", " INT("gridY") ", "
        INT("gridZ") ", " INT("workgroupX") ", " INT("workgroupY") ", " INT("workgroupZ") ", "
        INT("groupSegmentSize") ", " INT("privateSegmentSize") ", " STRING_ID("kernelName_id") ");"
    TABLE("rocpd_op") ROW_ID ", " INT("gpuId") ", " INT("queueId") ", " INT("sequenceId") ", "
        INT("start") ", " INT("end") ", " STRING_ID("description_id") ", " STRING_ID("opType_id") ");"
    TABLE("rocpd_api_ops") ROW_ID ", " REFERS("api_id", "rocpd_api") ", " REFERS("op_id", "rocpd_op") ");"
    TABLE("rocpd_monitor") ROW_ID ", " TEXT("deviceType", "16") ", " INT("deviceId") ", "
        TEXT("monitorType", "16") ", " INT("start") ", " INT("end") ", " TEXT("value", "255") ");"
    TABLE("rocpd_counter") ROW_ID ", \"value\" real NOT NULL, " REFERS("op_id", "rocpd_op") ", "
        STRING_ID("name_id") ");"
    TABLE("rocpd_stackframe") ROW_ID ", " REFERS("api_ptr_id", "rocpd_api") ", " INT("depth") ", "
        STRING_ID("name_id") ");";

const char* const kRpdViews =
    "CREATE VIEW api AS"
    " SELECT a.id, pid, tid, start, \"end\", d.string AS domain, c.string AS category,"
    "  n.string AS apiName, u.string AS args"
    " FROM rocpd_api a JOIN rocpd_string d ON d.id = a.domain_id"
    " JOIN rocpd_string c ON c.id = a.category_id JOIN rocpd_string n ON n.id = a.apiName_id"
    " JOIN rocpd_ustring u ON u.id = a.args_id;"

    "CREATE VIEW op AS"
    " SELECT o.id, gpuId, queueId, sequenceId, start, \"end\", d.string AS description, t.string AS opType"
    " FROM rocpd_op o JOIN rocpd_string d ON d.id = o.description_id"
    " JOIN rocpd_string t ON t.id = o.opType_id;"

    "CREATE VIEW busy AS"
    " SELECT gpuId, GpuTime, WallTime, CAST(GpuTime AS DOUBLE) / WallTime AS Busy"
    " FROM (SELECT gpuId, sum(\"end\" - start) AS GpuTime FROM rocpd_op GROUP BY gpuId),"
    "  (SELECT max(\"end\") - min(start) AS WallTime FROM rocpd_op);"

    // An operation without a description goes by its type.
    "CREATE VIEW top AS"
    " WITH named AS ("
    "  SELECT o.opType_id AS name_id, \"end\" - start AS ns FROM rocpd_op o"
    "   JOIN rocpd_string s ON s.id = o.description_id WHERE s.string = ''"
    "  UNION ALL"
    "  SELECT o.description_id, \"end\" - start FROM rocpd_op o"
    "   JOIN rocpd_string s ON s.id = o.description_id WHERE s.string <> '')"
    " SELECT string AS Name, count(*) AS TotalCalls, sum(ns) / 1000 AS TotalDuration_us,"
    "  CAST(sum(ns) / count(*) AS DOUBLE) / 1000 AS Ave_us,"
    "  CAST(sum(ns) AS DOUBLE) * 100 / (SELECT sum(\"end\" - start) FROM rocpd_op) AS Percentage"
    " FROM named JOIN rocpd_string n ON n.id = name_id"
    " GROUP BY string ORDER BY sum(ns) DESC;"

    "CREATE VIEW kernel AS"
    " SELECT o.id, gpuId, o.queueId, sequenceId, start, \"end\", \"end\" - start AS duration,"
    "  ifnull(k.stream, '') AS stream, d.gridX, d.gridY, d.gridZ AS gridz,"
    "  d.workgroupX, d.workgroupY, d.workgroupZ,"
    "  d.groupSegmentSize, d.privateSegmentSize, n.string AS kernelName"
    " FROM rochound_dispatch d JOIN rocpd_op o ON o.id = d.op_id"
    " JOIN rocpd_string t ON t.id = o.opType_id AND t.string = 'KernelExecution'"
    " JOIN rocpd_string n ON n.id = o.description_id"
    " LEFT JOIN rocpd_kernelapi k ON k.api_ptr_id = d.api_id;"

    "CREATE VIEW copy AS"
    " SELECT a.id, pid, tid, start, \"end\", n.string AS apiName, stream, size, width, height, kind,"
    "  dst, src, dstDevice, srcDevice, sync, pinned"
    " FROM rocpd_copyapi c JOIN rocpd_api a ON a.id = c.api_ptr_id"
    " JOIN rocpd_string n ON n.id = a.apiName_id;"

    "CREATE VIEW copyop AS"
    " SELECT o.id, gpuId, queueId, sequenceId, o.start, o.\"end\", o.\"end\" - o.start AS duration, stream,"
    "  size, width, height, kind, dst, src, dstDevice, srcDevice, sync, pinned, n.string AS apiName"
    " FROM rocpd_copyapi c JOIN rocpd_api_ops l ON l.api_id = c.api_ptr_id"
    " JOIN rocpd_op o ON o.id = l.op_id JOIN rocpd_api a ON a.id = c.api_ptr_id"
    " JOIN rocpd_string n ON n.id = a.apiName_id;"

    "CREATE VIEW stackframe AS"
    " SELECT a.id, n.string AS \"string\", depth, f.string AS \"string:1\""
    " FROM rocpd_stackframe s JOIN rocpd_api a ON a.id = s.api_ptr_id"
    " JOIN rocpd_string n ON n.id = a.apiName_id JOIN rocpd_string f ON f.id = s.name_id;"

    // Several nodes in one file: each has a stride of process and GPU numbers.
    "CREATE VIEW napi AS"
    " WITH stride AS (SELECT CAST(value AS BIGINT) AS n FROM rocpd_metadata WHERE tag = 'pid_stride')"
    " SELECT id, pid / n AS node, pid % n AS pid, tid % n AS tid, start, \"end\", domain, category,"
    "  apiName, args FROM api, stride;"
    "CREATE VIEW nop AS"
    " WITH stride AS (SELECT CAST(value AS BIGINT) AS n FROM rocpd_metadata WHERE tag = 'gpu_stride')"
    " SELECT id, gpuId / n AS node, gpuId % n AS gpuId, queueId % n AS queueId, sequenceId, start,"
    "  \"end\", description, opType FROM op, stride;";

const char* const kRpdIndexes =
    "CREATE INDEX \"rocpd_strin_string_c7b9cd_idx\" ON \"rocpd_string\" (\"string\");";
// clang-format on

namespace {

constexpr size_t kTextBytes = 4096;

template <typename Value>
constexpr const char* TypeOf() {
  static_assert(!std::is_floating_point_v<Value>, "none of our tables has real numbers");
  constexpr bool kIsText =
      std::is_same_v<Value, std::string> || std::is_same_v<Value, std::string_view>;
  return kIsText ? "TEXT" : "INTEGER";
}

template <typename Row>
std::string CreateTable() {
  constexpr const TableHead& kTable = Row::kTable;
  std::string columns;
  const auto add = [&](const char* name, const char* type) {
    if (!columns.empty()) columns += ", ";
    columns.append("\"").append(name).append("\" ").append(type);
  };
  bool is_key = false;
  if constexpr (kTable.key != nullptr) {
    add(kTable.key, "INTEGER");
    is_key = std::string_view(kTable.key) == kTable.order;
  }
  if (is_key) columns += " PRIMARY KEY";
  std::apply(
      [&]<typename... Values>(const Column<Row, Values>&... column) {
        (add(column.name, TypeOf<Values>()), ...);
      },
      Row::kColumns);
  if (!is_key) columns += std::string(", PRIMARY KEY (") + kTable.order + ")";
  return std::string("CREATE TABLE \"") + kTable.name + "\" (" + columns + ");";
}

}  // namespace

const std::string& RochoundTables() {
#define ROCHOUND_CREATE(Row) CreateTable<Row>() +
  static const std::string tables = ROCHOUND_OWN_ROWS(ROCHOUND_CREATE) std::string();
#undef ROCHOUND_CREATE
  return tables;
}

std::string_view CutText(std::string_view text) {
  if (text.size() <= kTextBytes) return text;
  size_t end = kTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace rochound::store
