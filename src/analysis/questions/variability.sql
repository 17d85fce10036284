-- SPDX-License-Identifier: MIT
-- note: Kernels are compared with themselves: the same name and shape. Variation is the standard deviation over the mean.
CREATE OR REPLACE TEMP TABLE step AS
SELECT
  a.id >> 32 AS session, a.pid, u.string AS step, a.start, a."end",
  row_number() OVER (PARTITION BY a.pid ORDER BY a.start, a.id) AS turn
FROM rocpd_api a
JOIN rocpd_string d ON d.id = a.domain_id AND d.string IN ('roctx', 'torch')
JOIN rocpd_ustring u ON u.id = a.args_id
WHERE regexp_matches(u.string, getvariable('step_pattern'));

CREATE OR REPLACE TEMP TABLE run AS
SELECT
  o.id, o.id >> 32 AS session, o."gpuId" AS rank, o.description_id,
  hash(d."gridX", d."gridY", d."gridZ", d."workgroupX", d."workgroupY", d."workgroupZ") AS shape_hash,
  d."gridX", d."gridY", d."gridZ", d.submit, o."end" - o.start AS ns
FROM rochound_dispatch d
JOIN rocpd_op o ON o.id = d.op_id
WHERE d.timed = 1;

-- What was submitted up to a time. A step's part is the difference of two of these: joining steps with all their kernels
-- would take steps times kernels.
CREATE OR REPLACE TEMP TABLE submitted AS
SELECT session, submit, sum(kernels) OVER up_to AS kernels, sum(ns) OVER up_to AS ns
FROM (SELECT session, submit, count(*) AS kernels, sum(ns) AS ns FROM run GROUP BY session, submit)
WINDOW up_to AS (PARTITION BY session ORDER BY submit ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);
-- table: kernels | Kernels whose times vary most, by the time that this costs
SELECT
  s.string AS kernel,
  any_value(concat_ws('x', "gridX", "gridY", "gridZ")) AS grid,
  count(*) AS calls,
  avg(ns) AS mean_ns,
  min(ns) AS min_ns,
  approx_quantile(ns, 0.5) AS median_ns,
  approx_quantile(ns, 0.95) AS at_95_ns,
  max(ns) AS max_ns,
  100.0 * stddev_pop(ns) / nullif(avg(ns), 0) AS variation_percent,
  (sum(ns) - count(*) * min(ns))::BIGINT AS above_fastest_ns
FROM run JOIN rocpd_string s ON s.id = run.description_id
GROUP BY kernel, shape_hash
HAVING count(*) > 1
ORDER BY stddev_pop(ns) * count(*) DESC, kernel, grid;
-- table: ranks | Kernels that are slower on some ranks
SELECT
  kernel,
  count(*) AS ranks,
  min(mean_ns) AS fastest_rank_mean_ns,
  max(mean_ns) AS slowest_rank_mean_ns,
  arg_max(rank, mean_ns) AS slowest_rank,
  100.0 * (max(mean_ns) - min(mean_ns)) / nullif(min(mean_ns), 0) AS spread_percent
FROM (
  SELECT s.string AS kernel, shape_hash, rank, avg(ns) AS mean_ns
  FROM run JOIN rocpd_string s ON s.id = run.description_id GROUP BY ALL)
GROUP BY kernel, shape_hash
HAVING count(*) > 1
ORDER BY slowest_rank_mean_ns - fastest_rank_mean_ns DESC, kernel;
-- table: steps | Steps
SELECT
  st.step, st.pid, st.turn,
  st."end" - st.start AS wall_ns,
  (coalesce(e.kernels, 0) - coalesce(b.kernels, 0))::BIGINT AS kernels,
  (coalesce(e.ns, 0) - coalesce(b.ns, 0))::BIGINT AS gpu_ns,
  100.0 * (st."end" - st.start) / nullif(avg(st."end" - st.start) OVER (PARTITION BY st.pid), 0) - 100 AS against_mean_percent
FROM step st
ASOF LEFT JOIN submitted b ON b.session = st.session AND b.submit < st.start
ASOF LEFT JOIN submitted e ON e.session = st.session AND e.submit < st."end"
ORDER BY st.pid, st.turn;
