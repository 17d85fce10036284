-- SPDX-License-Identifier: MIT
-- note: Depth is how many operations were submitted and not finished, those that run included. A queue's figures are of its own time: from its first submission to the end of its last operation.
CREATE OR REPLACE TEMP VIEW depth_changes AS
WITH work AS (
  SELECT
    o."gpuId" AS gpu, o."queueId" AS queue, o.id >> 32 AS session,
    least(coalesce(d.submit, c.submit, o.start), o.start) AS submit, o."end"
  FROM rocpd_op o
  LEFT JOIN rochound_dispatch d ON d.op_id = o.id
  LEFT JOIN rochound_copy c ON c.op_id = o.id
)
SELECT gpu, queue, session, submit AS t, 1 AS change FROM work
UNION ALL
SELECT gpu, queue, session, "end", -1 FROM work;

CREATE OR REPLACE TEMP TABLE queue_depth AS
SELECT
  gpu, queue, session, t,
  (sum(change) OVER queue_order)::BIGINT AS depth,
  lead(t) OVER queue_order AS until
FROM depth_changes
WINDOW queue_order AS (PARTITION BY gpu, session, queue ORDER BY t, change DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);

CREATE OR REPLACE TEMP TABLE depth_window AS
SELECT begin, greatest(1, (last - begin) / 200) AS bucket
FROM (SELECT max(t) AS last FROM queue_depth), (
  SELECT least(
    (SELECT min(t) FROM queue_depth),
    (SELECT min(a.start) FROM rocpd_api a JOIN rocpd_string d ON d.id = a.domain_id WHERE d.string <> 'rochound')) AS begin);
-- table: queues | Depth of each queue
SELECT
  gpu,
  queue,
  any_value(p.pid) AS pid,
  max(depth) AS max_depth,
  sum(depth * (until - t)) * 1.0 / nullif(sum(until - t), 0) AS mean_depth,
  coalesce(sum(until - t) FILTER (depth = 0), 0)::BIGINT AS empty_ns,
  100.0 * coalesce(sum(until - t) FILTER (depth = 0), 0) / nullif(sum(until - t), 0) AS empty_percent,
  coalesce(sum(until - t) FILTER (depth = 1), 0)::BIGINT AS single_ns,
  100.0 * coalesce(sum(until - t) FILTER (depth = 1), 0) / nullif(sum(until - t), 0) AS single_percent
FROM queue_depth LEFT JOIN rochound_process p USING (session)
GROUP BY gpu, session, queue
ORDER BY gpu, session, queue;
-- table: over_time | Greatest depth of each queue over time
SELECT gpu, queue, any_value(p.pid) AS pid, place * bucket AS since_start_ns, max(depth) AS max_depth
FROM (
  SELECT gpu, queue, session, depth, bucket, unnest(range((t - begin) / bucket, (until - 1 - begin) / bucket + 1)) AS place
  FROM queue_depth, depth_window
  WHERE until > t
) LEFT JOIN rochound_process p USING (session)
GROUP BY gpu, session, queue, since_start_ns
ORDER BY gpu, session, queue, since_start_ns;
