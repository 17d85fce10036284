// SPDX-License-Identifier: MIT
#include "analysis/findings/copy_classes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

namespace rochound::analysis {
namespace {

struct Piece {
  uint64_t begin, end;
};

// Host memory that the runtime knows: allocated by it or registered with it.
std::vector<Piece> LoadPinned(const Picture& picture) {
  std::vector<Piece> pieces;
  const Table& allocated = picture.Rows("SELECT address, size FROM rochound_allocation");
  for (size_t i = 0; i < allocated.rows.size(); ++i) {
    const auto* address = std::get_if<int64_t>(&allocated.rows[i][0]);
    const auto* size = std::get_if<int64_t>(&allocated.rows[i][1]);
    if (address == nullptr || size == nullptr) continue;
    pieces.push_back({static_cast<uint64_t>(*address), static_cast<uint64_t>(*address + *size)});
  }
  const Table& registered = picture.Rows(R"(
      SELECT regexp_extract(u.string, 'hostPtr=(0x[0-9a-f]+)', 1) AS address,
        try_cast(regexp_extract(u.string, 'sizeBytes=([0-9]+)', 1) AS BIGINT) AS size
      FROM rocpd_api a JOIN rocpd_string n ON n.id = a."apiName_id" AND n.string = 'hipHostRegister'
      JOIN rocpd_ustring u ON u.id = a.args_id)");
  for (size_t i = 0; i < registered.rows.size(); ++i) {
    const RowView row(registered, i);
    const uint64_t address = strtoull(row.Text("address").c_str(), nullptr, 16);
    pieces.push_back({address, address + static_cast<uint64_t>(row.Int("size"))});
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  return pieces;
}

bool Within(const std::vector<Piece>& pieces, uint64_t address) {
  auto after = std::upper_bound(pieces.begin(), pieces.end(), address,
                                [](uint64_t at, const Piece& piece) { return at < piece.begin; });
  // A few pieces may start below and be shorter than one that started before them.
  for (int tries = 0; tries < 8 && after != pieces.begin(); ++tries)
    if (address < (--after)->end) return true;
  return false;
}

struct Weight {
  double call_ns = 0, op_ns = 0;
  int64_t copies = 0, bytes = 0;
  std::map<std::string, double> calls;
};

}  // namespace

std::array<CopyTime, kCopyClasses> ClassifyCopies(const Picture& picture) {
  std::array<CopyTime, kCopyClasses> result;
  // What everybody waited for: the host in copy calls while the GPU did nothing, and copies on the
  // critical path.
  const int64_t in_calls = picture
                               .Idle([](const IdleReason& reason) {
                                 return IsCopyCall(reason.what) && !reason.one_time();
                               })
                               .ns;
  int64_t in_ops = picture.Idle([](const IdleReason& reason) { return IsCopyOp(reason.what); }).ns;
  for (const auto& [name, ns] : picture.path_ops())
    if (IsCopyOp(name)) in_ops += ns;
  if (in_calls + in_ops == 0) return result;

  const Table& calls = picture.Rows(R"(
      SELECT n.string AS call, c.size, c.kind, c.src, c.dst, c."srcDevice" AS src_device,
        c."dstDevice" AS dst_device, c.sync, a."end" - a.start AS host_ns, coalesce(o.ns, 0) AS op_ns
      FROM rocpd_copyapi c
      JOIN rocpd_api a ON a.id = c.api_ptr_id
      JOIN rocpd_string n ON n.id = a."apiName_id"
      LEFT JOIN (
        SELECT l.api_id, sum(o."end" - o.start)::BIGINT AS ns
        FROM (SELECT op_id, api_id FROM rochound_copy UNION SELECT op_id, api_id FROM rochound_dispatch) l
        JOIN rocpd_op o ON o.id = l.op_id GROUP BY l.api_id
      ) o ON o.api_id = a.id)");
  const std::vector<Piece> pinned = LoadPinned(picture);
  std::array<Weight, kCopyClasses> weights;
  Weight all;
  int64_t small = 0;
  for (size_t i = 0; i < calls.rows.size(); ++i)
    if (RowView(calls, i).Int("size") < kSmallCopy) ++small;
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    const RowView row(calls, i);
    const int64_t kind = row.Int("kind");
    const bool sync = row.Int("sync") != 0;
    all.call_ns += row.Real("host_ns");
    all.op_ns += row.Real("op_ns");
    const bool to_gpu = kind == 1 || (kind == 4 && row.Int("src_device") < 0);
    const bool to_host = kind == 2 || (kind == 4 && row.Int("dst_device") < 0);
    if (!to_gpu && !to_host) continue;
    const uint64_t address = strtoull(row.Text(to_gpu ? "src" : "dst").c_str(), nullptr, 16);
    const CopyClass kind_of = row.Int("size") < kSmallCopy && small >= kManyCopies
                                  ? CopyClass::kSmall
                              : !Within(pinned, address) ? CopyClass::kPageable
                              : sync                     ? CopyClass::kSync
                                                         : CopyClass::kAsync;
    Weight& weight = weights[static_cast<size_t>(kind_of)];
    weight.call_ns += row.Real("host_ns");
    weight.op_ns += row.Real("op_ns");
    ++weight.copies;
    weight.bytes += row.Int("size");
    weight.calls[row.Text("call")] += row.Real("host_ns") + row.Real("op_ns");
  }
  for (size_t i = 0; i < kCopyClasses; ++i) {
    const Weight& weight = weights[i];
    if (weight.copies == 0) continue;
    double ns = all.op_ns > 0 ? static_cast<double>(in_ops) * weight.op_ns / all.op_ns : 0;
    // What an asynchronous call takes is no copying.
    if (static_cast<CopyClass>(i) != CopyClass::kAsync && all.call_ns > 0)
      ns += static_cast<double>(in_calls) * weight.call_ns / all.call_ns;
    result[i].ns = std::llround(ns);
    result[i].copies = weight.copies;
    result[i].bytes = weight.bytes;
    result[i].call =
        std::max_element(weight.calls.begin(), weight.calls.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; })
            ->first;
  }
  return result;
}

}  // namespace rochound::analysis
