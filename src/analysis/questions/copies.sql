-- SPDX-License-Identifier: MIT
-- Copies by direction. Bandwidth is bytes over the time the copies ran on the GPU, those without a time left out.
-- table: directions | Copies by direction
SELECT
  t.string AS direction,
  count(*) AS copies,
  sum(c.size)::BIGINT AS moved_bytes,
  sum(o."end" - o.start)::BIGINT AS total_ns,
  sum(c.size) FILTER (c.timed = 1 AND o."end" > o.start) * 1e9
    / nullif(sum(o."end" - o.start) FILTER (c.timed = 1), 0) AS bandwidth_bytes_per_s,
  min(c.size) AS min_bytes,
  max(c.size) AS max_bytes
FROM rochound_copy c
JOIN rocpd_op o ON o.id = c.op_id
JOIN rocpd_string t ON t.id = o."opType_id"
GROUP BY direction
ORDER BY moved_bytes DESC, direction;
-- table: sizes | Copies by direction and size
SELECT
  t.string AS direction,
  (1::BIGINT << CAST(greatest(0, ceil(log2(greatest(c.size, 1)))) AS BIGINT)) AS up_to_bytes,
  count(*) AS copies,
  sum(c.size)::BIGINT AS moved_bytes,
  sum(o."end" - o.start)::BIGINT AS total_ns,
  sum(c.size) FILTER (c.timed = 1 AND o."end" > o.start) * 1e9
    / nullif(sum(o."end" - o.start) FILTER (c.timed = 1), 0) AS bandwidth_bytes_per_s
FROM rochound_copy c
JOIN rocpd_op o ON o.id = c.op_id
JOIN rocpd_string t ON t.id = o."opType_id"
GROUP BY direction, up_to_bytes
ORDER BY direction, up_to_bytes;
-- table: calls | Copy calls, with the time the host spent in them
SELECT
  n.string AS call,
  count(*) AS calls,
  sum(c.size)::BIGINT AS moved_bytes,
  sum(a."end" - a.start)::BIGINT AS total_ns,
  sum(c.size) * 1e9 / nullif(sum(a."end" - a.start), 0) AS bandwidth_bytes_per_s
FROM rocpd_copyapi c
JOIN rocpd_api a ON a.id = c.api_ptr_id
JOIN rocpd_string n ON n.id = a."apiName_id"
GROUP BY call
ORDER BY total_ns DESC, call;
