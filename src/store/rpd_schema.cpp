// SPDX-License-Identifier: MIT
#include "store/rpd_schema.h"

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
        STRING_ID("name_id") ");"
    "INSERT INTO rocpd_metadata(tag, value) VALUES"
    " ('gpu_stride', '1000'), ('pid_stride', '10000000'), ('schema_version', '3'),"
    // RPD's clean-up of unused strings asks here which other tables use them.
    " ('references::rocpd_string.id', '(\"rochound_kernel\", \"name_id\")'),"
    " ('references::rocpd_string.id', '(\"rochound_kernel\", \"mangledName_id\")');";

const char* const kRochoundTables =
    // A process of the run; the ids of its rows are `session` * 2^32 and what follows.
    TABLE("rochound_process") "session INTEGER PRIMARY KEY, pid INTEGER, ppid INTEGER, "
        "executable TEXT, command TEXT, host TEXT, start INTEGER, end INTEGER, calls INTEGER, "
        "dispatches INTEGER, copies INTEGER, note TEXT);"
    TABLE("rochound_agent") "session INTEGER, agent INTEGER, node INTEGER, type TEXT, name TEXT, "
        "product TEXT, uuid TEXT, gpuId INTEGER, PRIMARY KEY (session, agent));"
    TABLE("rochound_queue") "session INTEGER, queueId INTEGER, agent INTEGER, hsaId INTEGER, "
        "packets INTEGER, created INTEGER, PRIMARY KEY (session, queueId));"
    TABLE("rochound_kernel") "id INTEGER PRIMARY KEY, name_id INTEGER, mangledName_id INTEGER, "
        "kernelObject INTEGER, codeObject INTEGER, kernargBytes INTEGER, agent INTEGER);"
    // Every dispatch, those of graphs and of the runtime itself included. timed = 0: the GPU's times
    // are not known, and the operation stands in rocpd_op with the time it was submitted at.
    TABLE("rochound_dispatch") "op_id INTEGER PRIMARY KEY, api_id INTEGER, kernel_id INTEGER, "
        "gridX INTEGER, gridY INTEGER, gridZ INTEGER, "
        "workgroupX INTEGER, workgroupY INTEGER, workgroupZ INTEGER, "
        "groupSegmentSize INTEGER, privateSegmentSize INTEGER, queueId INTEGER, agent INTEGER, "
        "submit INTEGER, timed INTEGER);"
    TABLE("rochound_copy") "op_id INTEGER PRIMARY KEY, api_id INTEGER, size INTEGER, "
        "sourceAgent INTEGER, destinationAgent INTEGER, source INTEGER, destination INTEGER, "
        "width INTEGER, height INTEGER, submit INTEGER, timed INTEGER);"
    // end is NULL while the memory was never given back.
    TABLE("rochound_allocation") "id INTEGER PRIMARY KEY, pid INTEGER, agent INTEGER, "
        "address INTEGER, size INTEGER, flags INTEGER, start INTEGER, end INTEGER);"
    // Calls of HIP and HSA that gave an error back. NULL: what a call of HIP gave is not known.
    TABLE("rochound_failure") "api_id INTEGER PRIMARY KEY, result INTEGER);"
    // What a process said of itself at its end: the libraries it had loaded, its CPU time.
    TABLE("rochound_fact") "session INTEGER, name TEXT, value TEXT, "
        "PRIMARY KEY (session, name, value));"
    // What is not in this file although it happened. An empty table means that nothing is missing.
    TABLE("rochound_lost") "id INTEGER PRIMARY KEY, pid INTEGER, what TEXT, count INTEGER, note TEXT);"
    // Times of a process's life in which nothing of it was recorded.
    TABLE("rochound_unrecorded") "id INTEGER PRIMARY KEY, pid INTEGER, start INTEGER, "
        "end INTEGER, why TEXT);"
    // What became of kernels of the kernel cache. candidate_id is NULL for one that was not loaded.
    TABLE("rochound_swap") "id INTEGER PRIMARY KEY, kernel_id INTEGER, candidate_id INTEGER, "
        "start INTEGER, decision TEXT, file TEXT, reason TEXT);"
    // What had not ended when its process did, or when the recording paused: it is shown up to there.
    TABLE("rochound_unfinished") "what TEXT, id INTEGER, PRIMARY KEY (what, id));";

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

}  // namespace rochound::store
