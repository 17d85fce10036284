// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Kernels this short are mostly what starting one costs. Fused into one that takes as long as each
// of them, nearly all of their time would be given back. It would be wrong where they wait for
// communication in between, so long pauses are left out as far as there is any; whether they can be
// fused is not known.
std::optional<Match> FindTinyKernels(const Picture& picture) {
  constexpr int64_t kMany = 500;
  constexpr int64_t kLongPause = 1'000'000;
  const Table& table = picture.Rows(R"(
      SELECT n.string AS kernel, count(*) AS calls, sum(o."end" - o.start)::BIGINT AS ns
      FROM rocpd_op o
      JOIN rocpd_string t ON t.id = o."opType_id" AND t.string = 'KernelExecution'
      JOIN rocpd_string n ON n.id = o.description_id
      GROUP BY kernel HAVING median(o."end" - o.start) < 40000)");
  int64_t calls = 0, ns = 0, most_calls = 0;
  std::string most;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const RowView row(table, i);
    const auto on_path = picture.path_ops().find(row.Text("kernel"));
    if (on_path == picture.path_ops().end()) continue;
    calls += row.Int("calls");
    ns += on_path->second;
    if (row.Int("calls") <= most_calls) continue;
    most_calls = row.Int("calls");
    most = row.Text("kernel");
  }
  if (calls < kMany || !picture.gpu_bound()) return std::nullopt;
  // The time between one and the next, both submitted. Those that are listed are the longest.
  constexpr const char* kPause = "start after another operation";
  ns += picture.PathPart(kPause);
  int64_t long_pauses = 0, communication = 0;
  picture.ForEach("critical-path", "longest", [&](const RowView& row) {
    if (row.Text("what") == kPause && row.Int("piece_ns") >= kLongPause)
      long_pauses += row.Int("piece_ns");
  });
  picture.ForEach("overlap", "states", [&](const RowView& row) {
    if (row.Int("gpu") == picture.gpu() && row.Text("state") == "communication")
      communication += row.Int("total_ns");
  });
  ns -= std::min(long_pauses, communication);
  Match match;
  match.gain_ns = ns;
  match.sentence = fmt::format("{} very short kernels and the pauses between them take {} ({}).",
                               calls, Duration(ns), Share(ns, picture.wall()));
  match.evidence = fmt::format("{} each; most often {}, {} times", Duration(ns / calls),
                               BriefKernel(most), most_calls);
  return match;
}

}  // namespace rochound::analysis
