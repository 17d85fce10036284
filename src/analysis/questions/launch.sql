-- SPDX-License-Identifier: MIT
-- note: A launch is the time in its call, then the wait in its queue (from submission to start), then the kernel. A call that launches a whole graph is counted for each of its kernels.
CREATE OR REPLACE TEMP VIEW launches AS
SELECT
  o.id, s.string AS kernel, n.string AS call,
  a.start AS call_start, a."end" - a.start AS call_ns,
  greatest(0, o.start - coalesce(d.submit, a."end")) AS wait_ns,
  o."end" - o.start AS kernel_ns
FROM rochound_dispatch d
JOIN rocpd_op o ON o.id = d.op_id
JOIN rocpd_api a ON a.id = d.api_id
JOIN rocpd_string s ON s.id = o.description_id
JOIN rocpd_string n ON n.id = a."apiName_id"
WHERE d.timed = 1;
-- table: kernels | Launches by kernel
SELECT
  kernel,
  count(*) AS launches,
  sum(call_ns)::BIGINT / count(*) AS call_mean_ns,
  sum(wait_ns)::BIGINT / count(*) AS wait_mean_ns,
  approx_quantile(wait_ns, 0.5) AS wait_median_ns,
  approx_quantile(wait_ns, 0.95) AS wait_95_ns,
  sum(kernel_ns)::BIGINT / count(*) AS kernel_mean_ns,
  100.0 * count(*) FILTER (kernel_ns < call_ns) / count(*) AS shorter_than_call_percent
FROM launches
GROUP BY kernel
ORDER BY sum(call_ns + wait_ns + kernel_ns) DESC, kernel;
-- table: slowest | Launches that waited longest
SELECT kernel, call, id AS op_id, call_ns, wait_ns, kernel_ns
FROM launches
ORDER BY wait_ns DESC, op_id
LIMIT 50;
