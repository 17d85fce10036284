-- SPDX-License-Identifier: MIT
-- note: Busy is time in which at least one operation ran; work counts overlapping operations more than once.
-- note: Only time that was recorded counts.
CREATE OR REPLACE TEMP VIEW trace_window AS
SELECT min(start) AS first, max("end") AS last FROM (
  SELECT min(start) AS start, max("end") AS "end" FROM rocpd_op
  UNION ALL
  SELECT min(a.start), max(a."end") FROM rocpd_api a JOIN rocpd_string d ON d.id = a.domain_id WHERE d.string <> 'rochound'
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
  coalesce(operations, 0) AS operations,
  coalesce(busy_ns, 0) - coalesce(unrecorded_ns, 0) AS busy_ns,
  coalesce(work_ns, 0) AS work_ns,
  wall AS wall_ns,
  100.0 * (coalesce(busy_ns, 0) - coalesce(unrecorded_ns, 0)) / nullif(wall, 0) AS busy_percent
FROM (SELECT DISTINCT "gpuId" AS gpu FROM rochound_agent WHERE "gpuId" IS NOT NULL) a
FULL JOIN (
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
) USING (gpu)
LEFT JOIN (
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
  p.pid,
  operations,
  busy_ns - coalesce(unrecorded_ns, 0) AS busy_ns,
  work_ns,
  wall AS wall_ns,
  100.0 * (busy_ns - coalesce(unrecorded_ns, 0)) / nullif(wall, 0) AS busy_percent
FROM (
  SELECT
    "gpuId" AS gpu,
    "queueId" AS queue,
    session,
    count(*) AS operations,
    sum(greatest(0, "end" - greatest(start, coalesce(reached, start))))::BIGINT AS busy_ns,
    sum("end" - start)::BIGINT AS work_ns
  FROM (
    SELECT *, id >> 32 AS session, max("end") OVER (
      PARTITION BY "gpuId", "queueId", id >> 32 ORDER BY start, id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM rocpd_op
  )
  GROUP BY gpu, queue, session
) LEFT JOIN (
  SELECT gpu, queue, session, sum(least(b."end", u."end") - greatest(b.start, u.start))::BIGINT AS unrecorded_ns
  FROM (
    SELECT "gpuId" AS gpu, "queueId" AS queue, id >> 32 AS session, greatest(start, coalesce(max("end") OVER (
      PARTITION BY "gpuId", "queueId", id >> 32 ORDER BY start, id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start)) AS start, "end"
    FROM rocpd_op WHERE EXISTS (FROM unrecorded_time)
  ) b JOIN unrecorded_time u ON b.start < u."end" AND u.start < b."end"
  GROUP BY gpu, queue, session
) USING (gpu, queue, session)
LEFT JOIN rochound_process p USING (session), wall_time
ORDER BY gpu, session, queue;
