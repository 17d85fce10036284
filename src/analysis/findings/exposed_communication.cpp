// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/findings/rule.h"
#include "analysis/overlap.h"

namespace rochound::analysis {
namespace {

struct Collective {
  int64_t times = 0, ns = 0;
};

// Communication by kernel, most time first.
std::string MostOf(const Picture& picture) {
  const Table& table = picture.Rows(fmt::format(
      R"(SELECT n.string AS name, t.string AS type, count(*) AS times, sum(o."end" - o.start)::BIGINT AS ns
         FROM rocpd_op o JOIN rocpd_string n ON n.id = o.description_id
         JOIN rocpd_string t ON t.id = o."opType_id" WHERE o."gpuId" = {} GROUP BY ALL)",
      picture.gpu()));
  std::map<std::string, Collective> found;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const RowView row(table, i);
    if (WorkOf(row.Text("name"), row.Text("type")) != Work::kCommunication) continue;
    Collective& one = found[BriefKernel(row.Text("name"))];
    one.times += row.Int("times");
    one.ns += row.Int("ns");
  }
  const auto most = std::max_element(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.second.ns < b.second.ns;
  });
  if (most == found.end()) return {};
  return fmt::format("{} {}, {} each", most->second.times, most->first,
                     Duration(most->second.ns / std::max<int64_t>(1, most->second.times)));
}

}  // namespace

// Time in which collectives run on a GPU and nothing else does. Kernels of RCCL wait as well for
// ranks that are late: what a late rank costs is the straggler's and not promised here; of one rank
// alone it cannot be told, so the sentence says no more than that nothing runs beside.
std::optional<Match> FindExposedCommunication(const Picture& picture) {
  int64_t alone = 0, compute = 0;
  picture.ForEach("overlap", "states", [&](const RowView& row) {
    if (row.Int("gpu") != picture.gpu()) return;
    if (row.Text("state") == "communication") alone += row.Int("total_ns");
    if (row.Text("state") == "compute") compute += row.Int("total_ns");
  });
  if (const std::optional<Match> late = FindStraggler(picture)) alone -= late->gain_ns;
  // Of a trace that has nothing but communication it cannot be told.
  if (alone <= 0 || compute == 0) return std::nullopt;
  Match match;
  match.gain_ns = alone;
  match.sentence = fmt::format(
      "Communication takes {} ({}) in which the GPU computes nothing; {} of computing run without "
      "communication and could hide as much of it.",
      Duration(alone), Share(alone, picture.wall()), Duration(compute));
  match.evidence = MostOf(picture);
  return match;
}

}  // namespace rochound::analysis
