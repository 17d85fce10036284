-- SPDX-License-Identifier: MIT
-- note: A step's kernels are those submitted while it went on: by its process, or by its thread where several threads have steps.
-- note: Kernels are compared with themselves: the same name and shape. Variation is the standard deviation over the mean.
CREATE OR REPLACE TEMP TABLE step AS
SELECT
  a.id >> 32 AS session, a.pid, a.tid, u.string AS step, a.start, a."end",
  row_number() OVER (PARTITION BY a.pid, a.tid ORDER BY a.start, a.id) AS turn
FROM rocpd_api a
JOIN rocpd_string d ON d.id = a.domain_id AND d.string IN ('roctx', 'torch')
JOIN rocpd_ustring u ON u.id = a.args_id
WHERE regexp_matches(u.string, getvariable('step_pattern'));

-- Threads with steps of their own are ranks, or work side by side: what another one submits is not theirs. A step of a
-- process's only such thread has what all of its threads submit (PyTorch's backward pass has a thread of its own).
CREATE OR REPLACE TEMP TABLE step_thread AS
SELECT session, pid, tid, count(*) OVER (PARTITION BY session, pid) AS threads
FROM (SELECT DISTINCT session, pid, tid FROM step);

CREATE OR REPLACE TEMP TABLE run AS
SELECT
  o.id, o.id >> 32 AS session, d.api_id, o."gpuId" AS rank, o.description_id,
  hash(d."gridX", d."gridY", d."gridZ", d."workgroupX", d."workgroupY", d."workgroupZ") AS shape_hash,
  d."gridX", d."gridY", d."gridZ", d.submit, o."end" - o.start AS ns
FROM rochound_dispatch d
JOIN rocpd_op o ON o.id = d.op_id
WHERE d.timed = 1;

-- What was submitted up to a time. A step's part is the difference of two of these: joining steps with all their kernels
-- would take steps times kernels.
CREATE OR REPLACE TEMP TABLE submitted AS
SELECT session, tid, submit, sum(kernels) OVER up_to AS kernels, sum(ns) OVER up_to AS ns
FROM (
  SELECT r.session, t.tid, r.submit, count(*) AS kernels, sum(r.ns) AS ns
  FROM run r
  LEFT JOIN rocpd_api a ON a.id = r.api_id
  JOIN step_thread t ON t.session = r.session AND (t.threads = 1 OR t.tid = a.tid)
  GROUP BY r.session, t.tid, r.submit)
WINDOW up_to AS (PARTITION BY session, tid ORDER BY submit ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);
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
  st.step, st.pid, st.tid AS thread, st.turn,
  st."end" - st.start AS wall_ns,
  (coalesce(e.kernels, 0) - coalesce(b.kernels, 0))::BIGINT AS kernels,
  (coalesce(e.ns, 0) - coalesce(b.ns, 0))::BIGINT AS gpu_ns,
  100.0 * (st."end" - st.start) / nullif(avg(st."end" - st.start) OVER (PARTITION BY st.pid, st.tid), 0) - 100 AS against_mean_percent
FROM step st
ASOF LEFT JOIN submitted b ON b.session = st.session AND b.tid = st.tid AND b.submit < st.start
ASOF LEFT JOIN submitted e ON e.session = st.session AND e.tid = st.tid AND e.submit < st."end"
ORDER BY st.pid, st.tid, st.turn;
