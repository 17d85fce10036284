-- SPDX-License-Identifier: MIT
-- What `idle` answers by cause, as SQL: for the comparison in explain_bench.cpp. Dependencies between queues and the
-- call that ran meanwhile are left out, so it has less to do than the question.
WITH sync AS (
  SELECT a.pid, a.tid, a.start, a."end"
  FROM rocpd_api a JOIN rocpd_string c ON c.id = a.category_id AND c.string = 'synchronize'
), work AS (
  SELECT
    o.id, o."gpuId", o."queueId", o.start, o."end",
    coalesce(d.api_id, k.api_id) AS api_id,
    least(coalesce(d.submit, k.submit), o.start) AS submit,
    max(o."end") OVER (
      PARTITION BY o."gpuId", o."queueId" ORDER BY o.start, o.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM rocpd_op o
  LEFT JOIN rochound_dispatch d ON d.op_id = o.id
  LEFT JOIN rochound_copy k ON k.op_id = o.id
), gap AS (
  SELECT w.*, a.pid, a.tid, greatest(least(a.start, w.start), w.before) AS call_start, a.start AS launched,
    greatest(least(w.submit, w.start), w.before) AS submitted
  FROM work w JOIN rocpd_api a ON a.id = w.api_id
  WHERE w.start > w.before
), waited AS (
  SELECT g.*, greatest(least(s."end", g.call_start) - g.before, 0) AS drained_ns
  FROM gap g ASOF LEFT JOIN sync s ON s.pid = g.pid AND s.tid = g.tid AND s.start <= g.before
)
SELECT
  "gpuId", "queueId",
  count(*) AS gaps,
  sum(coalesce(drained_ns, 0)) AS drained_ns,
  sum(call_start - before - coalesce(drained_ns, 0)) AS host_ns,
  sum(submitted - call_start) FILTER (launched <= before) AS short_ns,
  sum(submitted - call_start) FILTER (launched > before) + sum(start - submitted) AS latency_ns
FROM waited
GROUP BY ALL
ORDER BY ALL;
