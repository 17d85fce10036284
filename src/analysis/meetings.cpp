// SPDX-License-Identifier: MIT
#include "analysis/meetings.h"

#include <algorithm>

namespace rochound::analysis {

void Meetings::Add(const std::string& name, const CollectivePart& part) {
  std::vector<Open>& open = open_[name];
  std::erase_if(open, [&](const Open& one) {
    return one.earliest_end + kClockTolerance < part.start;  // nobody joins it any more
  });
  const auto joined = std::find_if(open.begin(), open.end(), [&](const Open& one) {
    const std::vector<CollectivePart>& parts = all_[one.meeting].parts;
    return std::none_of(parts.begin(), parts.end(),
                        [&](const CollectivePart& other) { return other.rank == part.rank; });
  });
  if (joined == open.end()) {
    open.push_back({all_.size(), part.end});
    all_.push_back({name, {part}, -1});
    return;
  }
  all_[joined->meeting].parts.push_back(part);
  joined->earliest_end = std::min(joined->earliest_end, part.end);
}

}  // namespace rochound::analysis
