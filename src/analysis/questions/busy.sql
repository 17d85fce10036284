-- SPDX-License-Identifier: MIT
-- note: Busy is time in which at least one operation ran; work counts overlapping operations more than once.
-- The union of intervals: an operation adds what reaches beyond all that started before it.
CREATE OR REPLACE TEMP VIEW trace_window AS
SELECT min(start) AS first, max("end") AS last FROM (
  SELECT min(start) AS start, max("end") AS "end" FROM rocpd_op
  UNION ALL
  SELECT min(start), max("end") FROM rocpd_api
);
-- table: gpus | GPUs
SELECT
  gpu,
  operations,
  busy_ns,
  work_ns,
  last - first AS wall_ns,
  100.0 * busy_ns / nullif(last - first, 0) AS busy_percent
FROM (
  SELECT
    "gpuId" AS gpu,
    count(*) AS operations,
    sum(greatest(0, "end" - greatest(start, coalesce(reached, start))))::BIGINT AS busy_ns,
    sum("end" - start)::BIGINT AS work_ns
  FROM (
    SELECT *, max("end") OVER (
      PARTITION BY "gpuId" ORDER BY start, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM rocpd_op
  )
  GROUP BY gpu
), trace_window
ORDER BY gpu;
-- table: queues | Queues
SELECT
  gpu,
  queue,
  operations,
  busy_ns,
  work_ns,
  last - first AS wall_ns,
  100.0 * busy_ns / nullif(last - first, 0) AS busy_percent
FROM (
  SELECT
    "gpuId" AS gpu,
    "queueId" AS queue,
    count(*) AS operations,
    sum(greatest(0, "end" - greatest(start, coalesce(reached, start))))::BIGINT AS busy_ns,
    sum("end" - start)::BIGINT AS work_ns
  FROM (
    SELECT *, max("end") OVER (
      PARTITION BY "gpuId", "queueId" ORDER BY start, id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM rocpd_op
  )
  GROUP BY gpu, queue
), trace_window
ORDER BY gpu, queue;
