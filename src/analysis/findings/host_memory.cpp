// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Whether kernels use it is in their arguments, which a trace does not have: a note at most. Memory
// that copies use is what pinned memory is for, so only what no copy touches is reported, wherever
// in it. What was allocated at an address that the trace does not tell is left out.
std::optional<Match> FindHostMemory(const Picture& picture) {
  constexpr int64_t kLeast = 1 << 20;
  const Table& table = picture.Rows(R"(
      SELECT regexp_extract(u.string, '\*ptr=(0x[0-9a-fA-F]+)', 1) AS address,
        coalesce(try_cast(regexp_extract(u.string, '(?:sizeBytes|size|dev_size)=([0-9]+)', 1) AS BIGINT), 0) AS size
      FROM rocpd_api a
      JOIN rocpd_string n ON n.id = a."apiName_id"
        AND n.string IN ('hipHostMalloc', 'hipHostAlloc', 'hipMallocHost', 'hipMallocManaged')
      JOIN rocpd_ustring u ON u.id = a.args_id)");
  std::map<uint64_t, int64_t> pieces;  // by address
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const RowView row(table, i);
    const uint64_t address = AddressOf(row.Text("address"));
    if (address != 0) pieces[address] = std::max(pieces[address], row.Int("size"));
  }
  if (pieces.empty()) return std::nullopt;
  const Table& copies = picture.Rows("SELECT DISTINCT src, dst FROM rocpd_copyapi");
  for (size_t i = 0; i < copies.rows.size(); ++i) {
    for (const char* end : {"src", "dst"}) {
      const uint64_t address = AddressOf(RowView(copies, i).Text(end));
      auto after = pieces.upper_bound(address);
      if (after == pieces.begin()) continue;
      --after;
      if (address - after->first < static_cast<uint64_t>(after->second)) pieces.erase(after);
      if (pieces.empty()) return std::nullopt;
    }
  }
  int64_t bytes = 0;
  for (const auto& [address, size] : pieces) bytes += size;
  if (bytes < kLeast) return std::nullopt;
  int64_t kernels = 0;
  for (const auto& [name, ns] : picture.path_ops())
    if (!IsCopyOp(name)) kernels += ns;
  Match match;
  match.gain_ns = kernels;
  match.sentence = fmt::format(
      "{} of host memory can be used by kernels and are in no copy: each access may cross the bus.",
      Bytes(static_cast<double>(bytes)));
  match.evidence = fmt::format(
      "{}; kernels take {} of the path",
      Counted(static_cast<int64_t>(pieces.size()), "allocation", "allocations"), Duration(kernels));
  return match;
}

}  // namespace rochound::analysis
