// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/rule.h"

namespace rochound::analysis {
namespace {

struct Sequence {
  size_t length = 0;  // 0: nothing repeats
  size_t times = 0;
};

// The shortest sequence of launches that comes again and again: how often, one directly after the
// other.
Sequence FindRepeated(const Table& launches) {
  constexpr size_t kLongest = 256;
  std::vector<int64_t> kernels;
  for (size_t i = 0; i < launches.rows.size(); ++i)
    kernels.push_back(RowView(launches, i).Int("kernel"));
  Sequence best;
  for (size_t length = 1; length <= std::min(kLongest, kernels.size() / 4); ++length) {
    size_t run = 0, longest = 0;
    for (size_t i = length; i < kernels.size(); ++i) {
      run = kernels[i] == kernels[i - length] ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    const size_t covered = longest == 0 ? 0 : longest + length;
    if (covered * 2 < kernels.size()) continue;
    best = {length, covered / length};
    break;
  }
  return best;
}

}  // namespace

// A few slow launches are no rate.
std::optional<Match> FindLaunchRate(const Picture& picture) {
  constexpr int64_t kOften = 100;
  const Picture::Split& split = picture.split();
  if (split.launch_gaps < kOften || split.launch_ns == 0 || split.gpu_bound) return std::nullopt;
  const Table& launches = picture.Rows(R"(
      SELECT (hash(o.description_id, d."gridX", d."workgroupX") >> 1)::BIGINT AS kernel
      FROM rochound_dispatch d JOIN rocpd_op o ON o.id = d.op_id JOIN rocpd_api a ON a.id = d.api_id
      JOIN rocpd_string n ON n.id = a."apiName_id"
      WHERE n.string NOT LIKE '%Graph%'
      ORDER BY d.submit, d.op_id LIMIT 50000)");
  Match match;
  match.gain_ns = split.launch_ns;
  match.sentence =
      fmt::format("Launches come too slowly: between short kernels the GPU is idle {} ({}).",
                  Duration(match.gain_ns), Share(match.gain_ns, picture.wall()));
  match.evidence = fmt::format("{} gaps, {} each", split.launch_gaps,
                               Duration(match.gain_ns / split.launch_gaps));
  if (split.launch_outside_ns > 0)
    match.evidence += fmt::format(", of which {} outside HIP",
                                  Duration(split.launch_outside_ns / split.launch_gaps));
  const Sequence repeated = FindRepeated(launches);
  if (repeated.length > 0) {
    match.evidence += fmt::format(
        "; a sequence of {} repeats {} times",
        Counted(static_cast<int64_t>(repeated.length), "kernel", "kernels"), repeated.times);
    match.advice =
        fmt::format("Capture the repeated sequence of {} as a HIP graph and launch that.",
                    Counted(static_cast<int64_t>(repeated.length), "kernel", "kernels"));
  }
  return match;
}

}  // namespace rochound::analysis
