// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Whether kernels use it is in their arguments, which a trace does not have: a note at most. Memory
// that copies use is what pinned memory is for, so only what no copy touches is reported.
std::optional<Match> FindHostMemory(const Picture& picture) {
  constexpr int64_t kLeast = 1 << 20;
  const Table& table = picture.Rows(R"(
      WITH host AS (
        SELECT lower(regexp_extract(u.string, '\*ptr=(0x[0-9a-fA-F]+)', 1)) AS address,
          coalesce(try_cast(regexp_extract(u.string, '(?:sizeBytes|size|dev_size)=([0-9]+)', 1) AS BIGINT), 0) AS size
        FROM rocpd_api a
        JOIN rocpd_string n ON n.id = a."apiName_id"
          AND n.string IN ('hipHostMalloc', 'hipHostAlloc', 'hipMallocHost', 'hipMallocManaged')
        JOIN rocpd_ustring u ON u.id = a.args_id
      )
      SELECT count(*) AS pieces, coalesce(sum(size), 0)::BIGINT AS bytes
      FROM (SELECT address, max(size) AS size FROM host GROUP BY address) h
      WHERE NOT EXISTS (
        SELECT 1 FROM rocpd_copyapi c WHERE lower(c.src) = h.address OR lower(c.dst) = h.address))");
  if (table.rows.empty() || RowView(table, 0).Int("bytes") < kLeast) return std::nullopt;
  int64_t kernels = 0;
  for (const auto& [name, ns] : picture.path_ops())
    if (!IsCopyOp(name)) kernels += ns;
  Match match;
  match.gain_ns = kernels;
  match.sentence = fmt::format(
      "{} of host memory can be used by kernels and are in no copy: each access may cross the bus.",
      Bytes(RowView(table, 0).Real("bytes")));
  match.evidence = fmt::format(
      "{}; kernels take {} of the path",
      Counted(RowView(table, 0).Int("pieces"), "allocation", "allocations"), Duration(kernels));
  return match;
}

}  // namespace rochound::analysis
