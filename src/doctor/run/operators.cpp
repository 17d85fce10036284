// SPDX-License-Identifier: MIT
#include "doctor/run/operators.h"

#include <algorithm>

namespace rochound::doctor {

void OperatorFinder::AddRange(int64_t pid, int64_t tid, int64_t start, int64_t end,
                              std::string name) {
  const auto [found, fresh] =
      name_ids_.emplace(std::move(name), static_cast<uint32_t>(names_.size()));
  if (fresh) names_.push_back(found->first);
  threads_[{pid, tid}].push_back({start, end, -1, found->second});
}

void OperatorFinder::Arrange() {
  for (auto& [key, thread] : threads_) {
    // An outer range comes first where two start at once.
    std::stable_sort(thread.begin(), thread.end(), [](const Range& a, const Range& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    std::vector<int32_t> open;
    for (size_t i = 0; i < thread.size(); ++i) {
      while (!open.empty() && thread[static_cast<size_t>(open.back())].end < thread[i].end)
        open.pop_back();
      thread[i].parent = open.empty() ? -1 : open.back();
      open.push_back(static_cast<int32_t>(i));
    }
  }
}

int32_t OperatorFinder::Innermost(const Thread& thread, int64_t time) {
  const auto after =
      std::upper_bound(thread.begin(), thread.end(), time,
                       [](int64_t value, const Range& range) { return value < range.start; });
  auto at = static_cast<int32_t>(after - thread.begin()) - 1;
  while (at >= 0 && thread[static_cast<size_t>(at)].end < time)
    at = thread[static_cast<size_t>(at)].parent;
  return at;
}

void OperatorFinder::Mark(Thread& thread, int64_t time) {
  for (int32_t at = Innermost(thread, time); at >= 0;) {
    Range& range = thread[static_cast<size_t>(at)];
    if (range.launched) break;  // and so is what is around it
    range.launched = true;
    at = range.parent;
  }
}

void OperatorFinder::AddCall(int64_t pid, int64_t tid, int64_t start, int64_t end) {
  const auto found = threads_.find({pid, tid});
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  for (int32_t at = Innermost(thread, start); at >= 0; at = thread[static_cast<size_t>(at)].parent)
    thread[static_cast<size_t>(at)].in_calls += end - start;
}

void OperatorFinder::AddLaunch(int64_t pid, int64_t tid, int64_t start) {
  const auto found = threads_.find({pid, tid});
  if (found != threads_.end()) Mark(found->second, start);
}

// The way back counts for the innermost operator that has both.
void OperatorFinder::AddCopy(int64_t pid, int64_t tid, int64_t start, bool to_host) {
  const auto found = threads_.find({pid, tid});
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  for (int32_t at = Innermost(thread, start); at >= 0;
       at = thread[static_cast<size_t>(at)].parent) {
    Range& range = thread[static_cast<size_t>(at)];
    if (!to_host && range.to_host) {
      range.round_trip = true;
      return;
    }
    range.to_host |= to_host;
  }
}

void OperatorFinder::AddStrayLaunch(int64_t pid, int64_t start) {
  for (auto& [key, thread] : threads_)
    if (key.first == pid) Mark(thread, start);
}

std::vector<Operator> OperatorFinder::Find() const {
  constexpr uint32_t kOutermost = UINT32_MAX;
  std::map<std::pair<uint32_t, uint32_t>, Operator> groups;  // parent, name
  std::map<uint32_t, int64_t> with_by_name, with_by_parent;
  for (const auto& [key, thread] : threads_) {
    for (const Range& range : thread) {
      const uint32_t parent =
          range.parent < 0 ? kOutermost : thread[static_cast<size_t>(range.parent)].name;
      Operator& group = groups[{parent, range.name}];
      if (range.launched) {
        ++group.with;
        ++with_by_name[range.name];
        ++with_by_parent[parent];
        continue;
      }
      if (group.without++ == 0 || range.start < group.first_without_ns)
        group.first_without_ns = range.start;
      group.without_ns += range.end - range.start;
      group.round_trips += range.round_trip ? 1 : 0;
      group.host_ns += std::max<int64_t>(0, range.end - range.start - range.in_calls);
    }
  }
  std::vector<Operator> result;
  for (auto& [key, group] : groups) {
    if (group.without == 0) continue;
    group.name = names_[key.second];
    group.parent = key.first == kOutermost ? "" : names_[key.first];
    group.others_with = with_by_name[key.second] - group.with;
    group.siblings_with = with_by_parent[key.first] - group.with;
    result.push_back(std::move(group));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Operator& a, const Operator& b) { return a.host_ns > b.host_ns; });
  return result;
}

}  // namespace rochound::doctor
