-- SPDX-License-Identifier: MIT
-- note: Busy is time in which at least one operation ran; work counts overlapping operations more than once.
-- note: Only time that was recorded counts.
CREATE OR REPLACE TEMP VIEW trace_window AS
SELECT min(start) AS first, max("end") AS last FROM (
  SELECT min(start) AS start, max("end") AS "end" FROM rocpd_op
  UNION ALL
  SELECT min(start), max("end") FROM rocpd_api
);
-- The union of intervals: one adds what reaches beyond all that started before it.
CREATE OR REPLACE TEMP TABLE unrecorded_time AS
SELECT greatest(start, coalesce(reached, start)) AS start, "end" FROM (
  SELECT *, max("end") OVER (ORDER BY start, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM rochound_unrecorded
) WHERE "end" > greatest(start, coalesce(reached, start));
CREATE OR REPLACE TEMP TABLE wall_time AS
SELECT first, last, last - first - coalesce((
  SELECT sum(greatest(0, least("end", last) - greatest(start, first))) FROM unrecorded_time), 0)::BIGINT AS wall
FROM trace_window;
-- table: gpus | GPUs
SELECT
  gpu,
  operations,
  busy_ns - coalesce(unrecorded_ns, 0) AS busy_ns,
  work_ns,
  wall AS wall_ns,
  100.0 * (busy_ns - coalesce(unrecorded_ns, 0)) / nullif(wall, 0) AS busy_percent
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
) LEFT JOIN (
  SELECT gpu, sum(least(b."end", u."end") - greatest(b.start, u.start))::BIGINT AS unrecorded_ns
  FROM (
    SELECT "gpuId" AS gpu, greatest(start, coalesce(max("end") OVER (
      PARTITION BY "gpuId" ORDER BY start, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start)) AS start, "end"
    FROM rocpd_op WHERE EXISTS (FROM unrecorded_time)
  ) b JOIN unrecorded_time u ON b.start < u."end" AND u.start < b."end"
  GROUP BY gpu
) USING (gpu), wall_time
ORDER BY gpu;
-- table: queues | Queues
SELECT
  gpu,
  queue,
  p.pid AS process,
  operations,
  busy_ns - coalesce(unrecorded_ns, 0) AS busy_ns,
  work_ns,
  wall AS wall_ns,
  100.0 * (busy_ns - coalesce(unrecorded_ns, 0)) / nullif(wall, 0) AS busy_percent
FROM (
  SELECT
    "gpuId" AS gpu,
    "queueId" AS queue,
    min(id >> 32) AS session,
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
) LEFT JOIN (
  SELECT gpu, queue, sum(least(b."end", u."end") - greatest(b.start, u.start))::BIGINT AS unrecorded_ns
  FROM (
    SELECT "gpuId" AS gpu, "queueId" AS queue, greatest(start, coalesce(max("end") OVER (
      PARTITION BY "gpuId", "queueId" ORDER BY start, id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start)) AS start, "end"
    FROM rocpd_op WHERE EXISTS (FROM unrecorded_time)
  ) b JOIN unrecorded_time u ON b.start < u."end" AND u.start < b."end"
  GROUP BY gpu, queue
) USING (gpu, queue)
LEFT JOIN rochound_process p USING (session), wall_time
ORDER BY gpu, queue;
