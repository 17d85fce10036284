-- SPDX-License-Identifier: MIT
-- note: A rank is a GPU of a trace (node * 1000 + number). Ranks meet in a collective: the n-th one of a name on one rank is the n-th on all. Who starts last is late, the others wait for it.
CREATE OR REPLACE TEMP TABLE collective AS
WITH seen AS (
  SELECT
    o."gpuId" AS rank, s.string AS name, o.start, o."end",
    row_number() OVER (PARTITION BY o."gpuId", s.string ORDER BY o.start, o.id) AS turn
  FROM rocpd_op o
  JOIN rocpd_string s ON s.id = o.description_id
  WHERE regexp_matches(s.string, '(?i)(nccl|rccl)')
)
SELECT
  *,
  max(start) OVER meeting AS last_start,
  count(*) OVER meeting AS ranks,
  start = max(start) OVER meeting AND rank = arg_max(rank, start) OVER meeting AS late
FROM seen
WINDOW meeting AS (PARTITION BY name, turn);

CREATE OR REPLACE TEMP TABLE step AS
SELECT
  a.pid / 10000000 AS node, a.pid, u.string AS step, a.start, a."end",
  row_number() OVER (PARTITION BY a.pid, u.string ORDER BY a.start, a.id) AS turn
FROM rocpd_api a
JOIN rocpd_string d ON d.id = a.domain_id AND d.string IN ('roctx', 'torch')
JOIN rocpd_ustring u ON u.id = a.args_id
WHERE regexp_matches(u.string, getvariable('step_pattern'));
-- table: ranks | Ranks, the one that others wait for most first
SELECT
  rank,
  count(*) AS collectives,
  count(*) FILTER (late) AS times_last,
  100.0 * count(*) FILTER (late) / count(*) AS last_percent,
  sum(last_start - start)::BIGINT AS waited_ns,
  (SELECT coalesce(sum(o.last_start - o.start), 0)::BIGINT
   FROM collective o JOIN collective l ON l.name = o.name AND l.turn = o.turn AND l.late
   WHERE l.rank = c.rank AND o.ranks > 1) AS caused_wait_ns
FROM collective c
WHERE ranks > 1
GROUP BY rank
ORDER BY caused_wait_ns DESC, rank;
-- table: collectives | Collectives, by how far apart their ranks start
SELECT
  name,
  count(DISTINCT turn) AS meetings,
  max(ranks) AS ranks,
  avg(last_start - first_start) AS mean_spread_ns,
  max(last_start - first_start) AS max_spread_ns,
  arg_max(last_rank, last_start - first_start) AS late_rank_at_max
FROM (
  SELECT name, turn, any_value(ranks) AS ranks, min(start) AS first_start, max(start) AS last_start,
    max(rank) FILTER (late) AS last_rank
  FROM collective WHERE ranks > 1 GROUP BY name, turn
)
GROUP BY name
ORDER BY mean_spread_ns DESC, name;
-- table: steps | Steps whose processes took most different times
SELECT
  step,
  turn,
  count(*) AS processes,
  min("end" - start) AS fastest_ns,
  max("end" - start) AS slowest_ns,
  arg_max(pid, "end" - start) AS slowest_pid,
  100.0 * (max("end" - start) - min("end" - start)) / nullif(max("end" - start), 0) AS spread_percent
FROM step
GROUP BY step, turn
HAVING count(*) > 1
ORDER BY slowest_ns - fastest_ns DESC, step, turn;
