// SPDX-License-Identifier: MIT
#include "analysis/findings/copy_classes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "analysis/host_threads.h"
#include "analysis/idle.h"
#include "analysis/idle_sweep.h"

namespace rochound::analysis {
namespace {

struct Piece {
  uint64_t begin, end;
};

// Host memory that the runtime knows: allocated by it or registered with it. nullopt: the trace
// does not have all of it, since it has no allocations or does not begin with the program.
std::optional<std::vector<Piece>> LoadPinned(const Picture& picture) {
  if (!picture.Rows("SELECT 1 FROM rochound_unrecorded LIMIT 1").rows.empty()) return std::nullopt;
  std::vector<Piece> pieces;
  const Table& allocated = picture.Rows("SELECT address, size FROM rochound_allocation");
  if (allocated.rows.empty()) return std::nullopt;
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
    const uint64_t address = AddressOf(row.Text("address"));
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

struct Copy {
  std::string call;
  int64_t id = 0, size = 0;  // size 0: not known
  double host_ns = 0;
  CopyClass kind = CopyClass::kDevice;
  bool counts = true;  // false: its time is another rule's
};

// What the GPU was idle for in each copy call. What the host waited for a few bytes of a result is
// that rule's (hidden_synchronization.cpp).
std::map<std::string, int64_t> IdleInCalls(const Picture& picture) {
  std::map<std::string, int64_t> calls;
  for (const IdleReason& reason : picture.reasons()) {
    if (IsCopyCall(reason.what) && !IsCopyOp(reason.what) && !reason.one_time() &&
        picture.OwnerOf(reason) != Picture::Owner::kReadBack)
      calls[reason.what] += reason.ns;
  }
  return calls;
}

std::vector<Copy> LoadCopies(const Picture& picture) {
  const Table& calls = picture.Rows(R"(
      SELECT a.id, n.string AS call, c.size, c.kind, c.src, c.dst, c."srcDevice" AS src_device,
        c."dstDevice" AS dst_device, c.sync, a."end" - a.start AS host_ns
      FROM rocpd_copyapi c
      JOIN rocpd_api a ON a.id = c.api_ptr_id
      JOIN rocpd_string n ON n.id = a."apiName_id")");
  const std::optional<std::vector<Piece>> pinned = LoadPinned(picture);
  int64_t small = 0, results = 0;
  const auto is_small = [](const RowView& row) {
    return row.Int("size") > 0 && row.Int("size") < kSmallCopy;
  };
  const auto is_result = [](const RowView& row) {
    return row.Int("kind") == 2 && row.Int("size") > 0 && row.Int("size") <= kResultBytes;
  };
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    small += is_small(RowView(calls, i));
    results += is_result(RowView(calls, i));
  }
  // Where most of them are waits for results, they are no copies to be gathered.
  const bool results_wait = picture.GapsOf(Picture::Owner::kReadBack).gaps * 2 >= results;
  std::vector<Copy> copies;
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    const RowView row(calls, i);
    Copy copy{.call = row.Text("call"),
              .id = row.Int("id"),
              .size = row.Int("size"),
              .host_ns = row.Real("host_ns")};
    const int64_t kind = row.Int("kind");
    const bool to_gpu = kind == 1 || (kind == 4 && row.Int("src_device") < 0);
    const bool to_host = kind == 2 || (kind == 4 && row.Int("dst_device") < 0);
    const bool sync = row.Int("sync") != 0 || AlwaysBlocks(BlockingOf(copy.call));
    if (to_gpu || to_host) {
      const uint64_t address = AddressOf(row.Text(to_gpu ? "src" : "dst"));
      copy.kind = is_small(row) && small >= kManyCopies ? CopyClass::kSmall
                  : pinned.has_value() && address != 0 && !Within(*pinned, address)
                      ? CopyClass::kPageable
                  : sync ? CopyClass::kSync
                         : CopyClass::kAsync;
      copy.counts = !(results_wait && is_result(row));
    }
    copies.push_back(std::move(copy));
  }
  return copies;
}

}  // namespace

std::array<CopyTime, kCopyClasses> ClassifyCopies(const Picture& picture) {
  std::array<CopyTime, kCopyClasses> result;
  const std::vector<Copy> copies = LoadCopies(picture);
  // Operations on the path, by call.
  std::map<int64_t, int64_t> path;
  const std::map<int64_t, int64_t> by_op =
      picture.PathByOp([](const std::string& name) { return IsCopyOp(name); });
  const Table& links = picture.Rows(
      "SELECT op_id, api_id FROM rochound_copy WHERE api_id IS NOT NULL UNION "
      "SELECT op_id, api_id FROM rochound_dispatch WHERE api_id IS NOT NULL");
  for (size_t i = 0; !by_op.empty() && i < links.rows.size(); ++i) {
    const RowView row(links, i);
    const auto found = by_op.find(row.Int("op_id"));
    if (found != by_op.end()) path[row.Int("api_id")] += found->second;
  }
  // The start of each takes a moment; what else one waited for is no copying.
  const int64_t latency = picture
                              .Idle([&](const IdleReason& reason) {
                                return reason.cause == IdleCauseName(IdleCause::kLaunchLatency) &&
                                       IsCopyOp(reason.what) &&
                                       picture.OwnerOf(reason) != Picture::Owner::kReadBack;
                              })
                              .ns;
  const std::map<std::string, int64_t> in_calls = IdleInCalls(picture);
  // What an asynchronous call takes is no copying.
  const auto in_call = [](const Copy& copy) {
    return copy.kind == CopyClass::kAsync || !copy.counts ? 0 : copy.host_ns;
  };
  std::map<std::string, double> call_ns;
  for (const Copy& copy : copies) call_ns[copy.call] += in_call(copy);
  std::array<double, kCopyClasses> ns{};
  std::array<std::map<std::string, double>, kCopyClasses> calls;
  for (const Copy& copy : copies) {
    const auto kind = static_cast<size_t>(copy.kind);
    ++result[kind].copies;
    result[kind].bytes += copy.size;
    double cost =
        copy.counts ? static_cast<double>(latency) / static_cast<double>(copies.size()) : 0;
    if (const auto found = path.find(copy.id); found != path.end() && copy.counts)
      cost += static_cast<double>(found->second);
    if (const auto found = in_calls.find(copy.call); found != in_calls.end() && in_call(copy) > 0)
      cost += static_cast<double>(found->second) * copy.host_ns / call_ns[copy.call];
    ns[kind] += cost;
    calls[kind][copy.call] += cost;
  }
  for (size_t i = 0; i < kCopyClasses; ++i) {
    result[i].ns = std::llround(ns[i]);
    if (calls[i].empty()) continue;
    result[i].call =
        std::max_element(calls[i].begin(), calls[i].end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
  }
  return result;
}

}  // namespace rochound::analysis
