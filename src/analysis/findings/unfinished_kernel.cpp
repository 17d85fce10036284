// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// Of several in a queue the first is the one that the others wait for: it was submitted longest
// before the end.
std::optional<Match> FindUnfinishedKernel(const Picture& picture) {
  int64_t kernels = 0, longest = -1;
  std::string name;
  picture.ForEach("health", "unfinished", [&](const RowView& row) {
    if (row.Text("what") != "kernel") return;
    ++kernels;
    if (row.Int("submitted_before_end_ns") <= longest) return;
    longest = row.Int("submitted_before_end_ns");
    name = row.Text("name");
  });
  if (kernels == 0) return std::nullopt;
  Match match;
  match.gain_ns = longest;
  match.sentence = fmt::format("Kernel {} was submitted {} before the end and never finished.",
                               BriefKernel(name), Duration(longest));
  match.evidence = fmt::format("{} had not finished", Counted(kernels, "kernel", "kernels"));
  return match;
}

}  // namespace rochound::analysis
