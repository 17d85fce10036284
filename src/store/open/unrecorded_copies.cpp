// SPDX-License-Identifier: MIT
#include "store/open/unrecorded_copies.h"

#include <fmt/format.h>

#include "base/units.h"
#include "store/rpd/lost_kinds.h"

namespace rochound::store {
namespace {

constexpr const char* kCallsWithoutCopy = R"(
  SELECT a.pid, n.string, count(*)::BIGINT, sum(a."end" - a.start)::BIGINT
  FROM {0}.rocpd_api a
  JOIN {0}.rocpd_string n ON n.id = a."apiName_id"
    AND regexp_matches(n.string, '^(hip|cuda|cu)Memcpy')
  LEFT JOIN {0}.rocpd_ustring t ON t.id = a.args_id
  LEFT JOIN {0}.rocpd_copyapi c ON c.api_ptr_id = a.id
  ANTI JOIN {0}.rocpd_api_ops l ON l.api_id = a.id
  ASOF LEFT JOIN (
    SELECT b.pid, b.start, s.string LIKE '%BeginCapture' AS begins
    FROM {0}.rocpd_api b
    JOIN {0}.rocpd_string s ON s.id = b."apiName_id"
      AND regexp_matches(s.string, 'Stream(Begin|End)Capture')
  ) r ON r.pid = a.pid AND r.start <= a.start
  WHERE coalesce(c.kind, -1) <> 0 AND NOT contains(coalesce(t.string, ''), 'HostToHost')
    AND r.begins IS NOT true
  GROUP BY a.pid, n.string ORDER BY a.pid, n.string)";

}  // namespace

base::Result<void> TellUnrecordedCopies(duck::Connection& connection, const std::string& schema) {
  const std::string in = duck::Identifier(schema);
  std::string sql;
  {
    ROCHOUND_TRY(duck::Rows rows,
                 connection.Query(fmt::format(fmt::runtime(kCallsWithoutCopy), in)));
    while (true) {
      ROCHOUND_TRY(const bool any, rows.Next());
      if (!any) break;
      sql += fmt::format(
          "INSERT INTO {0}.rochound_lost SELECT coalesce(max(id), 0) + 1, {1}, {2}, {3}, {4} FROM "
          "{0}.rochound_lost;",
          in, rows.Int(0), duck::Literal(std::string(lost_kinds::kCopiesOfCalls)), rows.Int(2),
          duck::Literal(fmt::format("calls of {}, {} in all: no copy of theirs was recorded",
                                    rows.Text(1), base::TimeText(rows.Int(3)))));
    }
  }
  return sql.empty() ? base::Result<void>() : connection.Run(sql);
}

}  // namespace rochound::store
