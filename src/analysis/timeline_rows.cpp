// SPDX-License-Identifier: MIT
#include "analysis/timeline_rows.h"

#include <algorithm>
#include <utility>

namespace rochound::analysis {

void TimelineRows::BeginTrack() { tracks_.emplace_back(); }

void TimelineRows::Add(TimelineEvent event) {
  event.end = std::max(event.end, event.start);  // clocks of GPUs are not above going backwards
  std::vector<Row>& rows = tracks_.back();
  auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& candidate) {
    return candidate.back().event.end <= event.start;
  });
  if (row == rows.end()) row = rows.emplace(rows.end());
  if (!Put(*row, {event, event.end - event.start})) return;
  if (++kept_ > most_events_) Thin();
}

bool TimelineRows::Put(Row& row, const Placed& placed) const {
  // A merged event is at most a quantum long, so what is longer is never lost in one, and a row
  // keeps its shape at any scale that is coarser. What never finished is worth an event of its own.
  if (quantum_ == 0 || row.empty() || placed.event.end - row.back().event.start > quantum_ ||
      placed.event.unfinished || row.back().event.unfinished) {
    row.push_back(placed);
    return true;
  }
  Placed& last = row.back();
  last.event.end = placed.event.end;
  last.event.merged += placed.event.merged;
  if (placed.longest > last.longest) {
    last.longest = placed.longest;
    last.event.name = placed.event.name;
    last.event.id = placed.event.id;
    last.event.launch = placed.event.launch;
    last.event.shape = placed.event.shape;
  }
  return false;
}

void TimelineRows::Thin() {
  // Down to three quarters: thinning again for each further event would take for ever. Rows that
  // cannot become shorter end the attempt.
  constexpr int64_t kFirstQuantum = 128, kLastQuantum = int64_t{1} << 50;
  while (kept_ > most_events_ / 4 * 3 && quantum_ < kLastQuantum) {
    quantum_ = quantum_ == 0 ? kFirstQuantum : quantum_ * 2;
    kept_ = 0;
    for (std::vector<Row>& rows : tracks_) {
      for (Row& row : rows) {
        Row thinner;
        for (const Placed& placed : row) Put(thinner, placed);
        thinner.shrink_to_fit();
        row = std::move(thinner);
        kept_ += row.size();
      }
    }
  }
}

void TimelineRows::Finish(std::vector<TimelineTrack>& tracks, std::vector<TimelineEvent>& events) {
  events.reserve(kept_);
  for (size_t i = 0; i < tracks_.size(); ++i) {
    for (Row& row : tracks_[i]) {
      tracks[i].rows.push_back(row.size());
      for (const Placed& placed : row) events.push_back(placed.event);
      Row().swap(row);
    }
  }
  tracks_.clear();
}

}  // namespace rochound::analysis
