-- SPDX-License-Identifier: MIT
-- Kernels by the time they ran. Operations without a name of their own (copies) go by their type. Rows are added up by
-- the ids of their names first, and by the names themselves then: in a trace of several sources a name has several ids.
-- table: kernels | Kernels by name
SELECT
  kernel,
  sum(calls)::BIGINT AS calls,
  sum(total_ns)::BIGINT AS total_ns,
  sum(total_ns)::BIGINT / sum(calls)::BIGINT AS mean_ns,
  min(min_ns) AS min_ns,
  max(max_ns) AS max_ns,
  100.0 * sum(total_ns) / nullif(sum(sum(total_ns)) OVER (), 0) AS share_percent
FROM (
  SELECT if(d.string = '', t.string, d.string) AS kernel, o.*
  FROM (
    SELECT
      description_id, "opType_id",
      count(*) AS calls,
      sum("end" - start) AS total_ns,
      min("end" - start) AS min_ns,
      max("end" - start) AS max_ns
    FROM rocpd_op
    GROUP BY description_id, "opType_id"
  ) o
  JOIN rocpd_string d ON d.id = o.description_id
  JOIN rocpd_string t ON t.id = o."opType_id"
)
GROUP BY kernel
ORDER BY total_ns DESC, kernel;
-- table: shapes | Kernels by name and shape
SELECT
  s.string AS kernel,
  grid,
  workgroup,
  lds_bytes,
  sum(calls)::BIGINT AS calls,
  sum(total_ns)::BIGINT AS total_ns,
  sum(total_ns)::BIGINT / sum(calls)::BIGINT AS mean_ns,
  100.0 * sum(total_ns) / nullif(sum(sum(total_ns)) OVER (), 0) AS share_percent
FROM (
  SELECT
    description_id,
    concat_ws('x', "gridX", "gridY", "gridZ") AS grid,
    concat_ws('x', "workgroupX", "workgroupY", "workgroupZ") AS workgroup,
    "groupSegmentSize" AS lds_bytes,
    calls, total_ns
  FROM (
    SELECT
      o.description_id,
      d."gridX", d."gridY", d."gridZ",
      d."workgroupX", d."workgroupY", d."workgroupZ",
      d."groupSegmentSize",
      count(*) AS calls,
      sum(o."end" - o.start) AS total_ns
    FROM rochound_dispatch d
    JOIN rocpd_op o ON o.id = d.op_id
    GROUP BY ALL
  )
) k
JOIN rocpd_string s ON s.id = k.description_id
GROUP BY kernel, grid, workgroup, lds_bytes
ORDER BY total_ns DESC, kernel, grid, workgroup, lds_bytes;
