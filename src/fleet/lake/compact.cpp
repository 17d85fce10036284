// SPDX-License-Identifier: MIT
#include "fleet/lake/compact.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace rochound::fleet {
namespace {

using base::Result;

auto StreamAndDay(const Stretch& stretch) {
  return std::tie(stretch.tenant, stretch.shard, stretch.created, stretch.day);
}

}  // namespace

Result<Compacted> Compact(Lake& lake, const CompactOptions& options) {
  Compacted done;
  ROCHOUND_TRY(const auto all, lake.AllFiles(options.tenant));
  const auto live = Live(all);
  std::set<std::string> counting;
  for (const LakeFile& file : live) counting.insert(file.path);
  for (const LakeFile& file : all) {
    if (counting.contains(file.path)) continue;
    ROCHOUND_CHECK(lake.Remove(file));
    ++done.removed;
  }
  lake.RemoveLeftovers(options.tenant, std::chrono::hours(1));
  done.files = live.size();
  ROCHOUND_TRY(const auto rows, lake.CountRows(live));
  std::vector<LakeFile> group;
  uint64_t group_rows = 0;
  const auto finish = [&]() -> Result<void> {
    const bool over = !group.empty() && group.front().stretch.day < options.today;
    if (group.size() >= (over ? 2 : std::max<size_t>(2, options.least_files))) {
      ROCHOUND_TRY(const LakeFile merged, lake.Merge(group));
      done.merged += group.size();
      ++done.written;
      done.rows += group_rows;
    }
    group.clear();
    group_rows = 0;
    return {};
  };
  // Live files are in the order of their streams. Only neighbours of one day are merged: the name
  // of the larger file says that it holds everything from its first message to its last.
  for (size_t i = 0; i < live.size(); ++i) {
    const bool large = rows[i] >= options.rows / 2;
    const bool elsewhere =
        !group.empty() && StreamAndDay(group.back().stretch) != StreamAndDay(live[i].stretch);
    if (elsewhere || large || group_rows + rows[i] > options.rows) ROCHOUND_CHECK(finish());
    if (large) continue;
    group.push_back(live[i]);
    group_rows += rows[i];
  }
  ROCHOUND_CHECK(finish());
  return done;
}

}  // namespace rochound::fleet
