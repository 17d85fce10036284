-- SPDX-License-Identifier: MIT
-- What `callstack` answers by name, as SQL: for the comparison in explain_bench.cpp. It takes well nested calls for
-- granted, which the question itself does not.
WITH gpu AS (
  SELECT l.api_id, sum(o."end" - o.start) AS ns
  FROM rocpd_api_ops l JOIN rocpd_op o ON o.id = l.op_id GROUP BY l.api_id
), change AS (
  SELECT a.pid, a.tid, a.start AS t, 1 AS step, a.id, a."end" - a.start AS length, coalesce(g.ns, 0) AS gpu_ns
  FROM rocpd_api a LEFT JOIN gpu g ON g.api_id = a.id
  UNION ALL
  SELECT pid, tid, "end", -1, id, 0, 0 FROM rocpd_api
), swept AS (
  SELECT *, sum(step) OVER thread AS depth, sum(gpu_ns) OVER thread AS gpu_so_far
  FROM change
  WINDOW thread AS (PARTITION BY pid, tid ORDER BY t, step, -length * step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), call AS (
  SELECT
    pid, tid, id,
    min(t) AS start, max(length) AS length,
    max(depth) FILTER (step = 1) AS depth,
    max(gpu_so_far) - max(gpu_so_far - gpu_ns) FILTER (step = 1) AS gpu_inclusive,
    max(gpu_ns) FILTER (step = 1) AS gpu_exclusive
  FROM swept GROUP BY pid, tid, id
), child AS (
  SELECT parent.id, sum(call.length) AS length
  FROM call ASOF JOIN call parent
    ON parent.pid = call.pid AND parent.tid = call.tid AND parent.depth = call.depth - 1 AND parent.start <= call.start
  GROUP BY parent.id
)
SELECT
  n.string AS name,
  u.string AS args,
  count(*) AS calls,
  sum(c.length) AS cpu_inclusive_ns,
  sum(c.length - coalesce(k.length, 0)) AS cpu_exclusive_ns,
  sum(c.gpu_inclusive) AS gpu_inclusive_ns,
  sum(c.gpu_exclusive) AS gpu_exclusive_ns
FROM call c
JOIN rocpd_api a ON a.id = c.id
LEFT JOIN child k ON k.id = c.id
JOIN rocpd_string n ON n.id = a."apiName_id"
LEFT JOIN rocpd_ustring u ON u.id = a.args_id AND n.string = 'UserMarker'
GROUP BY ALL
ORDER BY cpu_exclusive_ns DESC;
