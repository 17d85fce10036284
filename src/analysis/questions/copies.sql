-- SPDX-License-Identifier: MIT
-- note: A copy is what a call asked for, whichever engine, kernel or number of pieces did it; copies without a call (graph launches) count one by one. Calls that a stream capture recorded moved nothing.
-- note: Bandwidth is bytes over the time from a copy's first piece to its last, those without a time left out.
-- What was done on the GPU, or by the runtime: one row per piece.
CREATE OR REPLACE TEMP TABLE copy_piece AS
SELECT c.op_id, c.api_id, t.string AS direction, c.size, o.start, o."end", c.timed
FROM rochound_copy c
JOIN rocpd_op o ON o.id = c.op_id
JOIN rocpd_string t ON t.id = o."opType_id";

-- Times in which a stream of the process was being captured.
CREATE OR REPLACE TEMP TABLE captured AS
SELECT pid, start, lead(start, 1, 9223372036854775807) OVER (PARTITION BY pid ORDER BY start) AS until, begins
FROM (
  SELECT a.pid, a.start, n.string = 'hipStreamBeginCapture' AS begins
  FROM rocpd_api a
  JOIN rocpd_string n ON n.id = a."apiName_id"
    AND n.string IN ('hipStreamBeginCapture', 'hipStreamEndCapture'));

CREATE OR REPLACE TEMP TABLE copy_call AS
SELECT
  c.api_ptr_id AS api_id, a.pid, n.string AS call, c.size, c.sync, a.start, a."end",
  CASE c.kind WHEN 0 THEN 'CopyHostToHost' WHEN 1 THEN 'CopyHostToDevice' WHEN 2 THEN 'CopyDeviceToHost'
    WHEN 3 THEN 'CopyDeviceToDevice' END AS direction
FROM rocpd_copyapi c
JOIN rocpd_api a ON a.id = c.api_ptr_id
JOIN rocpd_string n ON n.id = a."apiName_id" AND contains(lower(n.string), 'memcpy');

CREATE OR REPLACE TEMP TABLE moved AS
-- Calls, with their pieces if there were any. Without: the host copied during the call, or it was captured.
SELECT
  k.api_id, k.call, k."end" - k.start AS host_ns,
  coalesce(k.direction, p.direction, 'CopyHostToHost') AS direction,
  if(k.size > 0, k.size, coalesce(p.size, 0)) AS size,
  CASE WHEN p.api_id IS NULL THEN if(k.sync = 1, k."end" - k.start, NULL) WHEN p.timed THEN p.ns END AS ns
FROM copy_call k
LEFT JOIN (
  SELECT api_id, arg_max(direction, size) AS direction, sum(size)::BIGINT AS size, max("end") - min(start) AS ns,
    bool_and(timed = 1) AS timed
  FROM copy_piece WHERE direction <> 'FillBuffer' GROUP BY api_id
) p ON p.api_id = k.api_id
ASOF LEFT JOIN captured r ON r.pid = k.pid AND r.start <= k.start
WHERE p.api_id IS NOT NULL OR r.begins IS NOT true
UNION ALL
SELECT NULL, NULL, NULL, p.direction, p.size, if(p.timed = 1, p."end" - p.start, NULL)
FROM copy_piece p
LEFT JOIN copy_call k ON k.api_id = p.api_id
WHERE k.api_id IS NULL OR p.direction = 'FillBuffer';
-- table: directions | Copies by direction
SELECT
  direction,
  count(*) AS copies,
  sum(size)::BIGINT AS moved_bytes,
  coalesce(sum(ns), 0)::BIGINT AS total_ns,
  sum(size) FILTER (ns > 0) * 1e9 / nullif(sum(ns), 0) AS bandwidth_bytes_per_s,
  min(size) AS min_bytes,
  max(size) AS max_bytes
FROM moved
GROUP BY direction
ORDER BY moved_bytes DESC, direction;
-- table: sizes | Copies by direction and size
SELECT
  direction,
  (1::BIGINT << CAST(greatest(0, ceil(log2(greatest(size, 1)))) AS BIGINT)) AS up_to_bytes,
  count(*) AS copies,
  sum(size)::BIGINT AS moved_bytes,
  coalesce(sum(ns), 0)::BIGINT AS total_ns,
  sum(size) FILTER (ns > 0) * 1e9 / nullif(sum(ns), 0) AS bandwidth_bytes_per_s
FROM moved
GROUP BY direction, up_to_bytes
ORDER BY direction, up_to_bytes;
-- table: calls | Copy calls: the time the host spent in them, and the time the copies took
SELECT
  call,
  count(*) AS calls,
  sum(size)::BIGINT AS moved_bytes,
  sum(host_ns)::BIGINT AS host_ns,
  coalesce(sum(ns), 0)::BIGINT AS copy_ns,
  sum(size) FILTER (ns > 0) * 1e9 / nullif(sum(ns), 0) AS bandwidth_bytes_per_s
FROM moved
WHERE call IS NOT NULL
GROUP BY call
ORDER BY host_ns DESC, call;
-- table: captured | Copy calls that a stream capture recorded: they moved nothing themselves
SELECT k.call, count(*) AS calls, sum(k.size)::BIGINT AS captured_bytes
FROM copy_call k LEFT JOIN moved m ON m.api_id = k.api_id
WHERE m.api_id IS NULL
GROUP BY k.call
ORDER BY captured_bytes DESC, k.call;
