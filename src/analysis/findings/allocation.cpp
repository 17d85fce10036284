// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// The time in calls that allocate and free, and after a hipFree that waited for the GPU the time
// until the next launch. It would be wrong for what every program begins and ends with, so a few
// calls are none.
std::optional<Match> FindAllocation(const Picture& picture) {
  constexpr int64_t kSteady = 10;
  const Picture::Sum calls = picture.Idle(
      [](const IdleReason& reason) { return IsAllocationCall(reason.what) && !reason.one_time(); });
  const Picture::Gaps after = picture.GapsOf(Picture::Owner::kFree);
  if (calls.ns + after.ns == 0) return std::nullopt;
  const Table& table = picture.Rows(R"(
      SELECT count(*) AS calls FROM rocpd_api a
      JOIN rocpd_string n ON n.id = a."apiName_id"
      WHERE regexp_matches(n.string, '^hip.*(Malloc|Free|HostAlloc|HostRegister)')
        AND a.start > (SELECT min(start) FROM rocpd_op) AND a.start < (SELECT max("end") FROM rocpd_op))");
  const int64_t steady = table.rows.empty() ? 0 : RowView(table, 0).Int("calls");
  if (steady < kSteady) return std::nullopt;
  Match match;
  match.gain_ns = calls.ns + after.ns;
  match.sentence = fmt::format("The GPU waits {} ({}) while memory is allocated and freed.",
                               Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence =
      fmt::format("{} between the first kernel and the last, most time in {}",
                  Counted(steady, "call", "calls"), calls.most.empty() ? after.call : calls.most);
  if (after.ns > 0)
    match.evidence +=
        fmt::format("; {} wait until the GPU is empty, {} pass from there to the next launch",
                    after.call, Duration(after.ns));
  return match;
}

}  // namespace rochound::analysis
