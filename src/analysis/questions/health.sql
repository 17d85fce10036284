-- SPDX-License-Identifier: MIT
-- table: lost | What happened and is not in the trace, or not for sure
SELECT what, count, pid, note FROM rochound_lost ORDER BY count DESC, what, pid, note;
-- table: unrecorded | Times that were not recorded
SELECT pid, why, count(*) AS times, sum("end" - start)::BIGINT AS total_ns, max("end" - start) AS longest_ns,
  min(start) - (SELECT min(start) FROM rochound_process) AS first_at_ns
FROM rochound_unrecorded GROUP BY pid, why ORDER BY total_ns DESC, pid, why;
-- table: unfinished | What had not ended when its process or the recording did
SELECT * FROM (
  SELECT u.what, s.string AS name, o."end" - least(o.start, coalesce(d.submit, o.start)) AS submitted_before_end_ns, u.id
  FROM rochound_unfinished u JOIN rocpd_op o ON o.id = u.id JOIN rocpd_string s ON s.id = o.description_id
  LEFT JOIN rochound_dispatch d ON d.op_id = o.id
  WHERE u.what IN ('kernel', 'copy')
  UNION ALL
  SELECT u.what, if(u.what = 'range', t.string, n.string), a."end" - a.start, u.id
  FROM rochound_unfinished u JOIN rocpd_api a ON a.id = u.id JOIN rocpd_string n ON n.id = a."apiName_id"
  JOIN rocpd_ustring t ON t.id = a.args_id
  WHERE u.what IN ('call', 'range')
) ORDER BY what, submitted_before_end_ns DESC, id;
-- table: checks | What was looked at
SELECT * FROM (
  SELECT 'kernels without a GPU time' AS "check", (SELECT count(*) FROM rochound_dispatch WHERE timed = 0) AS found
  UNION ALL
  SELECT 'copies without a GPU time', (SELECT count(*) FROM rochound_copy WHERE timed = 0)
  UNION ALL
  SELECT 'operations that end before they start', (SELECT count(*) FROM rocpd_op WHERE "end" < start)
  UNION ALL
  SELECT 'kernels that start before they were submitted (clocks disagree)', (
    SELECT count(*) FROM rochound_dispatch d JOIN rocpd_op o ON o.id = d.op_id WHERE d.timed = 1 AND o.start < d.submit)
  UNION ALL
  SELECT 'kernels that belong to no call', (SELECT count(*) FROM rochound_dispatch WHERE api_id IS NULL)
  UNION ALL
  SELECT 'calls that end before they start', (SELECT count(*) FROM rocpd_api WHERE "end" < start)
  UNION ALL
  SELECT 'processes that did not end in order', (SELECT count(*) FROM rochound_process WHERE note <> '')
) ORDER BY found DESC, "check";
-- table: processes | Processes
SELECT pid, executable, host, "end" - start - coalesce((
    SELECT sum(u."end" - u.start) FROM rochound_unrecorded u WHERE u.id >> 32 = session), 0)::BIGINT AS recorded_ns,
  "end" - start AS life_ns, calls, dispatches, copies, note
FROM rochound_process ORDER BY session;
-- table: cpu_only | Times of a process with calls but no work on any GPU, at least a twentieth of the trace long
WITH trace_window AS (
  SELECT min(start) AS first, max("end") AS last FROM (
    SELECT start, "end" FROM rocpd_api UNION ALL SELECT start, "end" FROM rocpd_op)
), work AS (
  SELECT id >> 32 AS session, start, max("end") OVER (
    PARTITION BY id >> 32 ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before, "end"
  FROM rocpd_op
), life AS (
  SELECT id >> 32 AS session, min(start) AS born, max("end") AS died, any_value(pid) AS pid FROM rocpd_api GROUP BY 1
), gaps AS (
  SELECT w.session, coalesce(w.before, l.born) AS gap_start, w.start AS gap_end
  FROM work w JOIN life l USING (session)
  UNION ALL
  SELECT l.session, coalesce(max(w."end"), any_value(l.born)), any_value(l.died)
  FROM life l LEFT JOIN work w USING (session) GROUP BY l.session
)
SELECT l.pid, gap_start - first AS since_start_ns, gap_end - gap_start AS length_ns,
  100.0 * (gap_end - gap_start) / nullif(last - first, 0) AS share_percent
FROM gaps JOIN life l USING (session), trace_window
WHERE gap_end - gap_start >= (last - first) / 20 AND gap_end > gap_start
ORDER BY length_ns DESC, l.pid, since_start_ns;
