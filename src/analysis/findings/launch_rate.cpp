// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/rule.h"

namespace rochound::analysis {
namespace {

// A wait of the host among launches.
constexpr int64_t kWait = -1;

struct Sequence {
  size_t kernels = 0;  // 0: nothing repeats
  size_t times = 0;
  bool waits = false;  // the host waits within it
};

// The shortest sequence of launches that comes again and again: how often, one directly after the
// other.
Sequence FindRepeated(const Table& launches) {
  constexpr size_t kLongest = 256;
  std::vector<int64_t> kernels;
  for (size_t i = 0; i < launches.rows.size(); ++i)
    kernels.push_back(RowView(launches, i).Int("kernel"));
  for (size_t length = 1; length <= std::min(kLongest, kernels.size() / 4); ++length) {
    size_t run = 0, longest = 0, last = 0;
    for (size_t i = length; i < kernels.size(); ++i) {
      run = kernels[i] == kernels[i - length] ? run + 1 : 0;
      if (run <= longest) continue;
      longest = run;
      last = i;
    }
    const size_t covered = longest == 0 ? 0 : longest + length;
    if (covered * 2 < kernels.size()) continue;
    const auto end = kernels.begin() + static_cast<ptrdiff_t>(last) + 1;
    const auto waits =
        static_cast<size_t>(std::count(end - static_cast<ptrdiff_t>(length), end, kWait));
    return {length - waits, covered / length, waits > 0};
  }
  return {};
}

}  // namespace

// Gaps in which the host was on its way to the next launch, had not waited for the GPU, and did
// nothing else for long: its own speed is what the GPU waits for. It would be wrong where the host
// computes or sleeps a little before each launch: sure only where most of the time is in launching
// calls or in operators of PyTorch. A graph is advised only for several kernels that come again in
// the same order with no wait of the host among them, and not where graphs are what is launched.
std::optional<Match> FindLaunchRate(const Picture& picture) {
  const Picture::Gaps gaps = picture.GapsOf(Picture::Owner::kLaunch);
  if (gaps.gaps == 0) return std::nullopt;
  const Table& launches = picture.Rows(R"(
      SELECT kernel FROM (
        SELECT (hash(o.description_id, d."gridX", d."workgroupX") >> 1)::BIGINT AS kernel,
          d.submit AS time, d.op_id AS id
        FROM rochound_dispatch d JOIN rocpd_op o ON o.id = d.op_id
        JOIN rocpd_api a ON a.id = d.api_id JOIN rocpd_string n ON n.id = a."apiName_id"
        WHERE n.string NOT LIKE '%Graph%'
        UNION ALL
        SELECT -1, a.start, a.id FROM rocpd_api a JOIN rocpd_string n ON n.id = a."apiName_id"
        LEFT JOIN rocpd_copyapi c ON c.api_ptr_id = a.id
        WHERE n.string LIKE 'hip%Synchronize' OR (n.string LIKE 'hipMemcpy%' AND c.kind = 2)
      ) ORDER BY time, id LIMIT 50000)");
  const Table& graphs = picture.Rows(R"(
      SELECT count(DISTINCT a.id) FILTER (n.string LIKE '%Graph%') AS graphs,
        count(DISTINCT a.id) AS calls
      FROM rochound_dispatch d JOIN rocpd_api a ON a.id = d.api_id
      JOIN rocpd_string n ON n.id = a."apiName_id")");
  Match match;
  match.gain_ns = gaps.ns;
  if (gaps.unknown_ns * 2 > gaps.ns ||
      (!picture.has_operators() &&
       picture.launching().outside_ns > picture.launching().in_calls_ns))
    match.confidence = Confidence::kLikely;
  match.sentence =
      fmt::format("Launches come too slowly: between short kernels the GPU is idle {} ({}){}.",
                  Duration(match.gain_ns), Share(match.gain_ns, picture.wall()),
                  match.confidence == Confidence::kSure
                      ? ""
                      : ", most of it while the host does something that is not in the trace");
  match.evidence = fmt::format("{}, {} each", Counted(gaps.gaps, "gap", "gaps"),
                               Duration(match.gain_ns / gaps.gaps));
  if (gaps.outside_ns > 0)
    match.evidence +=
        fmt::format(", of which {} outside HIP", Duration(gaps.outside_ns / gaps.gaps));
  const Sequence repeated = FindRepeated(launches);
  const bool by_graphs = !graphs.rows.empty() &&
                         RowView(graphs, 0).Int("graphs") * 2 > RowView(graphs, 0).Int("calls");
  if (by_graphs) {
    match.evidence += "; graphs are launched already";
    match.advice = "Put more work into each graph, or do less on the host between launches.";
  } else if (repeated.times > 0 && repeated.kernels > 0) {
    const std::string kernels =
        Counted(static_cast<int64_t>(repeated.kernels), "kernel", "kernels");
    match.evidence += fmt::format("; a sequence of {} repeats {} times", kernels, repeated.times);
    if (repeated.waits)
      match.evidence += ", and the host waits within it";
    else if (repeated.kernels > 1)
      match.advice = fmt::format(
          "Capture the repeated sequence of {} as a HIP graph and launch that.", kernels);
  }
  return match;
}

}  // namespace rochound::analysis
