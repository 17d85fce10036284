// SPDX-License-Identifier: MIT
#include "analysis/facts.h"

#include <algorithm>

namespace rochound::analysis {

base::Result<Facts> ReadFacts(store::TraceDatabase& trace) {
  ROCHOUND_TRY(store::duck::Rows rows, trace.connection().Query(R"(
      WITH calls AS (
        SELECT min(a.start) AS first, max(a."end") AS last, count(*) AS events, count(DISTINCT a.pid) AS places
        FROM rocpd_api a JOIN rocpd_string d ON d.id = a.domain_id
        WHERE d.string <> 'rochound'
      ), ops AS (
        SELECT min(start) AS first, max("end") AS last, count(*) AS events, count(DISTINCT "gpuId") AS places
        FROM rocpd_op
      )
      SELECT coalesce(least(c.first, o.first), 0), coalesce(greatest(c.last, o.last), 0),
             c.events, o.events, c.places, o.places
      FROM calls c, ops o)"));
  Facts facts;
  ROCHOUND_TRY(const bool any, rows.Next());
  if (!any) return facts;
  facts.begin = rows.Int(0);
  facts.length = std::max<int64_t>(0, rows.Int(1) - rows.Int(0));
  facts.calls = rows.Int(2);
  facts.operations = rows.Int(3);
  facts.processes = rows.Int(4);
  facts.gpus = rows.Int(5);
  return facts;
}

}  // namespace rochound::analysis
