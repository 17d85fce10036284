// SPDX-License-Identifier: MIT
#include "analysis/graphs.h"

#include <utility>

namespace rochound::analysis {
namespace {

using base::Result;

constexpr const char* kFindGraphs = R"sql(
CREATE SCHEMA IF NOT EXISTS found;

CREATE OR REPLACE TEMP MACRO graph_argument(args, pattern) AS
  regexp_extract(args, '(?i)(?:^|\|)' || pattern || '=([^|]*)', 1);

-- Most of a trace's text is arguments of calls: they are read past the ids of these, not collected.
CREATE OR REPLACE TABLE found.graph_call AS
WITH calls AS (
  SELECT a.id, a.pid, a.start, a."end", a.args_id, n.string AS name
  FROM rocpd_api a
  JOIN rocpd_string n ON n.id = a."apiName_id"
    AND regexp_matches(n.string, '^(hip|cuda)(GraphLaunch|GraphInstantiate|GraphCreate|GraphClone|StreamBeginCapture|StreamEndCapture)')
)
SELECT c.id, c.pid, c.start, c."end", c.name, u.string AS args
FROM calls c
JOIN (SELECT id, string FROM rocpd_ustring WHERE id IN (SELECT args_id FROM calls)) u ON u.id = c.args_id;


-- Where graphs come from. A capture begins with the last hipStreamBeginCapture of its stream.
CREATE OR REPLACE TABLE found.graph_source AS
WITH ends AS (
  SELECT pid, start, "end", graph_argument(args, '\*p?Graph') AS graph, graph_argument(args, 'stream') AS stream
  FROM found.graph_call WHERE contains(name, 'StreamEndCapture')
), begins AS (
  SELECT pid, start, graph_argument(args, 'stream') AS stream
  FROM found.graph_call WHERE contains(name, 'StreamBeginCapture')
)
SELECT e.pid, e.graph, e.stream, coalesce(b.start, e.start) AS start, e."end"
FROM ends e ASOF LEFT JOIN begins b ON b.pid = e.pid AND b.stream = e.stream AND b.start <= e.start
UNION ALL
SELECT pid, graph_argument(args, '\*p?Graph(?:Clone)?'), '', start, "end"
FROM found.graph_call WHERE contains(name, 'GraphCreate') OR contains(name, 'GraphClone');

CREATE OR REPLACE TABLE found.graph AS
WITH made AS (
  SELECT id, pid, start, "end", graph_argument(args, '\*\w*graphExec') AS "graphExec",
    graph_argument(args, 'graph') AS graph
  FROM found.graph_call WHERE contains(name, 'GraphInstantiate')
)
SELECT m.id, m.pid, m.graph, m."graphExec", coalesce(c.stream, '') AS stream,
  coalesce(c.start, m.start) AS start, coalesce(c."end", m."end") AS "end"
FROM made m ASOF LEFT JOIN found.graph_source c ON c.pid = m.pid AND c.graph = m.graph AND c."end" <= m.start;

CREATE OR REPLACE TABLE found.graph_launch AS
WITH launches AS (
  SELECT id, pid, start, "end", graph_argument(args, '\w*graphExec') AS "graphExec",
    graph_argument(args, '\w*stream') AS stream
  FROM found.graph_call WHERE contains(name, 'GraphLaunch')
), work AS (
  SELECT x.api_id, arg_min(o."gpuId", (o.start, o.id)) AS "gpuId", arg_min(o."queueId", (o.start, o.id)) AS "queueId",
    max(o."end") - min(o.start) AS op_ns, sum(o."end" - o.start)::BIGINT AS gpu_ns
  FROM rocpd_api_ops x JOIN rocpd_op o ON o.id = x.op_id
  WHERE x.api_id IN (SELECT id FROM launches)
  GROUP BY x.api_id
)
-- A graph that was made before the recording began goes by its first launch.
SELECT l.id AS api_id, coalesce(g.id, min(l.id) OVER (PARTITION BY l.pid, l."graphExec", g.id)) AS graph_id,
  l."graphExec", l.stream, w."gpuId", w."queueId", w.op_ns, w.gpu_ns
FROM launches l
ASOF LEFT JOIN (SELECT f.id, f.pid, f."graphExec", a.start FROM found.graph f JOIN rocpd_api a ON a.id = f.id) g
  ON g.pid = l.pid AND g."graphExec" = l."graphExec" AND g.start <= l.start
LEFT JOIN work w ON w.api_id = l.id;

INSERT INTO found.graph
SELECT DISTINCT a.id, a.pid, '', l."graphExec", '', a.start, a."end"
FROM found.graph_launch l JOIN rocpd_api a ON a.id = l.graph_id
WHERE l.graph_id NOT IN (SELECT id FROM found.graph);

CREATE OR REPLACE TABLE found.graph_kernel AS
WITH firsts AS (
  SELECT graph_id, min(api_id) AS api_id FROM found.graph_launch WHERE gpu_ns IS NOT NULL GROUP BY graph_id
)
SELECT f.graph_id, row_number() OVER (PARTITION BY f.graph_id ORDER BY d.submit, d.op_id) AS sequence, d.op_id,
  o.description_id AS "kernelName_id", d."gridX", d."gridY", d."gridZ", d."workgroupX", d."workgroupY",
  d."workgroupZ", d."groupSegmentSize", d."privateSegmentSize"
FROM firsts f
JOIN rochound_dispatch d ON d.api_id = f.api_id
JOIN rocpd_op o ON o.id = d.op_id
JOIN rocpd_string t ON t.id = o."opType_id" AND t.string = 'KernelExecution';
)sql";

}  // namespace

Result<void> FindGraphs(store::duck::Connection& connection) { return connection.Run(kFindGraphs); }

Result<Answer> AskGraphs(store::TraceDatabase& trace, const AskOptions& options) {
  store::duck::Connection& connection = trace.connection();
  ROCHOUND_CHECK(FindGraphs(connection));
  Answer answer;
  answer.notes = {
      "A launch's operations are its kernels and copies: op is from the first one's start to the "
      "last "
      "one's end, gpu is the sum of their times.",
      "Kernels are those of a graph's first launch."};
  struct Part {
    const char *id, *title, *sql;
  };
  static constexpr Part kParts[] = {
      {"graphs", "Graphs", R"sql(
SELECT g.pid, g."graphExec" AS exec, g.graph, g.stream AS captured_from, count(l.api_id) AS launches,
  (SELECT count(*) FROM found.graph_kernel k WHERE k.graph_id = g.id) AS kernels,
  sum(a."end" - a.start)::BIGINT AS api_ns, sum(l.op_ns)::BIGINT AS op_ns, sum(l.gpu_ns)::BIGINT AS gpu_ns,
  sum(l.gpu_ns)::BIGINT / nullif(count(l.gpu_ns), 0) AS gpu_mean_ns
FROM found.graph g
LEFT JOIN found.graph_launch l ON l.graph_id = g.id
LEFT JOIN rocpd_api a ON a.id = l.api_id
GROUP BY g.id, g.pid, exec, g.graph, captured_from
ORDER BY gpu_ns DESC NULLS LAST, g.id)sql"},
      {"launches", "Launches, in order", R"sql(
SELECT a.pid, a.tid, n.string AS call, l."graphExec" AS exec, l.stream, l."gpuId" AS gpu, l."queueId" AS queue,
  a."end" - a.start AS api_ns, l.op_ns, l.gpu_ns
FROM found.graph_launch l
JOIN rocpd_api a ON a.id = l.api_id
JOIN rocpd_string n ON n.id = a."apiName_id"
ORDER BY a.start, a.id)sql"},
      {"kernels", "What graphs are made of", R"sql(
SELECT g."graphExec" AS exec, k.sequence, n.string AS kernel, k."gridX" AS grid_x, k."gridY" AS grid_y,
  k."gridZ" AS grid_z, k."workgroupX" AS workgroup_x, k."workgroupY" AS workgroup_y, k."workgroupZ" AS workgroup_z
FROM found.graph_kernel k
JOIN found.graph g ON g.id = k.graph_id
JOIN rocpd_string n ON n.id = k."kernelName_id"
ORDER BY g.start, g.id, k.sequence)sql"},
  };
  for (const Part& part : kParts) {
    ROCHOUND_TRY(Table table, ReadTable(connection, part.sql, part.id, part.title, options.limit));
    answer.tables.push_back(std::move(table));
  }
  return answer;
}

}  // namespace rochound::analysis
