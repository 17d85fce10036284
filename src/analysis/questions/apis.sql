-- SPDX-License-Identifier: MIT
-- Calls by the time they took themselves; found.own_time (apis.cpp) has it where calls contain others. Ranges of the
-- program are not calls and are in their own table.
-- note: total is from a call's begin to its end; own is without the calls it made (HSA's, where they were recorded), so own times and shares add up.
-- table: calls | Calls by name
SELECT
  n.string AS call,
  d.string AS domain,
  c.string AS category,
  sum(t.calls)::BIGINT AS calls,
  sum(t.total_ns)::BIGINT AS total_ns,
  sum(coalesce(w.own_ns, t.total_ns))::BIGINT AS own_ns,
  sum(t.total_ns)::BIGINT / sum(t.calls)::BIGINT AS mean_ns,
  min(t.min_ns) AS min_ns,
  max(t.max_ns) AS max_ns,
  100.0 * sum(coalesce(w.own_ns, t.total_ns)) / nullif(sum(sum(coalesce(w.own_ns, t.total_ns))) OVER (), 0) AS share_percent
FROM (
  SELECT
    domain_id, category_id, "apiName_id",
    count(*) AS calls,
    sum("end" - start) AS total_ns,
    min("end" - start) AS min_ns,
    max("end" - start) AS max_ns
  FROM rocpd_api
  GROUP BY ALL
) t
LEFT JOIN found.own_time w USING (domain_id, category_id, "apiName_id")
JOIN rocpd_string d ON d.id = t.domain_id AND d.string NOT IN ('roctx', 'torch', 'rochound')
JOIN rocpd_string c ON c.id = t.category_id
JOIN rocpd_string n ON n.id = t."apiName_id"
GROUP BY call, domain, category
ORDER BY own_ns DESC, call, domain, category;
-- table: ranges | Ranges of the program, by name
SELECT
  u.string AS "range",
  count(*) AS calls,
  sum(a."end" - a.start)::BIGINT AS total_ns,
  sum(a."end" - a.start)::BIGINT / count(*) AS mean_ns,
  min(a."end" - a.start) AS min_ns,
  max(a."end" - a.start) AS max_ns
FROM rocpd_api a
JOIN rocpd_string d ON d.id = a.domain_id AND d.string IN ('roctx', 'torch')
JOIN rocpd_ustring u ON u.id = a.args_id
GROUP BY u.string
ORDER BY total_ns DESC, "range";
