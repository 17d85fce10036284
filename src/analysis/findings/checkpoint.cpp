// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Now and then much is copied to the host, and no kernel runs meanwhile, nor for a long time after.
// It would be wrong where the copies are what the program is there for, so many kernels run between
// one time and the next, about the same bytes are copied each time, and a good part of the pause
// comes after the copy. What the host does then is not in the trace: never sure.
std::optional<Match> FindCheckpoint(const Picture& picture) {
  constexpr size_t kLeastTimes = 3;
  constexpr int64_t kLeastKernels = 8;  // between
  const Table& table = picture.Rows(fmt::format(
      R"(WITH kernel AS (
        SELECT o.start, o."end", row_number() OVER turn AS number,
          max(o."end") OVER (turn ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM rocpd_op o JOIN rocpd_string n ON n.id = o.description_id
        JOIN rocpd_string t ON t.id = o."opType_id" AND t.string = 'KernelExecution'
        WHERE o."gpuId" = {} AND NOT regexp_matches(n.string, 'rocclr')
        WINDOW turn AS (ORDER BY o.start, o.id)
      ), pause AS (
        SELECT before AS begin, start AS "end", number FROM kernel WHERE start > before
      ), copy AS (
        SELECT a.start, a."end", c.size FROM rocpd_copyapi c JOIN rocpd_api a ON a.id = c.api_ptr_id
        WHERE c.size >= 1048576 AND (c.kind = 2 OR (c.kind = 4 AND c."dstDevice" < 0))
      )
      SELECT p.begin, p."end", p.number, sum(c.size)::BIGINT AS bytes, max(c."end") AS copied
      FROM copy c ASOF JOIN pause p ON p."end" >= c."end" WHERE c."end" > p.begin
      GROUP BY p.begin, p."end", p.number ORDER BY p.begin)",
      picture.gpu()));
  int64_t ns = 0, after = 0, most = 0, least = INT64_MAX, previous = 0;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const RowView row(table, i);
    ns += row.Int("end") - row.Int("begin");
    after += row.Int("end") - row.Int("copied");
    most = std::max(most, row.Int("bytes"));
    least = std::min(least, row.Int("bytes"));
    if (row.Int("number") - previous < kLeastKernels) return std::nullopt;
    previous = row.Int("number");
  }
  const auto times = static_cast<int64_t>(table.rows.size());
  if (table.rows.size() < kLeastTimes || least * 5 < most * 4 || after * 4 < ns)
    return std::nullopt;
  Match match;
  match.gain_ns = ns;
  match.takes = {{"host-work", after},
                 {"cpu-work", after},
                 {"pageable-copies", ns - after},
                 {"copies-on-path", ns - after},
                 {"copy-overlap", ns - after}};
  match.sentence = fmt::format(
      "{} times the program copies {} to the host, as checkpoints do, and no kernel runs until it "
      "goes on: {} ({}).",
      times, Bytes(static_cast<double>(most)), Duration(ns), Share(ns, picture.wall()));
  match.evidence = fmt::format("{} each, {} of it after the copy; one every {}",
                               Duration(ns / times), Duration(after / times),
                               Duration((RowView(table, table.rows.size() - 1).Int("begin") -
                                         RowView(table, 0).Int("begin")) /
                                        (times - 1)));
  return match;
}

}  // namespace rochound::analysis
