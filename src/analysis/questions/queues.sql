-- SPDX-License-Identifier: MIT
-- note: Depth is how many operations were submitted and not finished, those that run included.
CREATE OR REPLACE TEMP VIEW depth_changes AS
WITH work AS (
  SELECT o."gpuId" AS gpu, o."queueId" AS queue, least(coalesce(d.submit, c.submit, o.start), o.start) AS submit, o."end"
  FROM rocpd_op o
  LEFT JOIN rochound_dispatch d ON d.op_id = o.id
  LEFT JOIN rochound_copy c ON c.op_id = o.id
)
SELECT gpu, queue, submit AS t, 1 AS change FROM work
UNION ALL
SELECT gpu, queue, "end", -1 FROM work;

CREATE OR REPLACE TEMP TABLE queue_depth AS
SELECT
  gpu, queue, t,
  (sum(change) OVER queue_order)::BIGINT AS depth,
  lead(t) OVER queue_order AS until
FROM depth_changes
WINDOW queue_order AS (PARTITION BY gpu, queue ORDER BY t, change DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);

CREATE OR REPLACE TEMP TABLE depth_window AS
SELECT first, last, begin, greatest(1, (last - begin) / 200) AS bucket
FROM (SELECT min(t) AS first, max(t) AS last FROM queue_depth), (
  SELECT least(
    (SELECT min(t) FROM queue_depth),
    (SELECT min(a.start) FROM rocpd_api a JOIN rocpd_string d ON d.id = a.domain_id WHERE d.string <> 'rochound')) AS begin);
-- table: queues | Depth of each queue
SELECT
  gpu,
  queue,
  max(depth) AS max_depth,
  sum(depth * (until - t)) * 1.0 / nullif(any_value(last - first), 0) AS mean_depth,
  (any_value(last - first) - coalesce(sum(until - t) FILTER (depth > 0), 0))::BIGINT AS empty_ns,
  100.0 * (any_value(last - first) - coalesce(sum(until - t) FILTER (depth > 0), 0))
    / nullif(any_value(last - first), 0) AS empty_percent,
  coalesce(sum(until - t) FILTER (depth = 1), 0)::BIGINT AS single_ns,
  100.0 * coalesce(sum(until - t) FILTER (depth = 1), 0) / nullif(any_value(last - first), 0) AS single_percent
FROM queue_depth, depth_window
GROUP BY gpu, queue
ORDER BY gpu, queue;
-- table: over_time | Greatest depth of each queue over time
SELECT gpu, queue, place * bucket AS since_start_ns, max(depth) AS max_depth
FROM (
  SELECT gpu, queue, depth, bucket, unnest(range((t - begin) / bucket, (until - 1 - begin) / bucket + 1)) AS place
  FROM queue_depth, depth_window
  WHERE until > t
)
GROUP BY gpu, queue, since_start_ns
ORDER BY gpu, queue, since_start_ns;
