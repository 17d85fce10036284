// SPDX-License-Identifier: MIT
#include "fleet/metrics/lake_totals.h"

#include <fmt/format.h>

#include <cstdlib>

#include "fleet/lake/sketch_rows.h"

namespace rochound::fleet {

using store::duck::Literal;

base::Result<std::map<RankKey, RankTotals>> LoadRankTotals(Lake& lake, const std::string& tenant,
                                                           const std::set<RankKey>& ranks) {
  std::map<RankKey, RankTotals> totals;
  ROCHOUND_TRY(const bool there, lake.MakeView(tenant));
  if (!there || ranks.empty()) return totals;
  std::string list;
  for (const RankKey& key : ranks)
    list += fmt::format("{}({}, {}, {})", list.empty() ? "" : ", ", Literal(key.job),
                        Literal(key.host), key.rank);
  const std::string those = fmt::format("(job, host, rank) IN ({})", list);
  ROCHOUND_TRY(const auto merged, MergeSketches(lake.database(), {"job", "host", "rank"},
                                                "loss IS NULL AND " + those));
  for (const auto& [parts, sketch] : merged)
    totals[{parts[0], parts[1], std::atoll(parts[2].c_str())}] = {sketch.launches, sketch.untimed,
                                                                  sketch.work_items, 0, sketch.ns};
  ROCHOUND_TRY(auto rows, lake.database().Query(fmt::format(
                              "SELECT job, host, rank, sum(lost) FROM sketches WHERE loss IS NOT "
                              "NULL AND {} GROUP BY ALL",
                              those)));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return totals;
    totals[{std::string(rows.Text(0)), std::string(rows.Text(1)), rows.Int(2)}].lost =
        static_cast<uint64_t>(rows.Int(3));
  }
}

}  // namespace rochound::fleet
