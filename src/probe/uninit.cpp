// SPDX-License-Identifier: MIT
#include "probe/uninit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "codeobj/demangle.h"

namespace rochound::probe {
namespace {

// More than any GPU runs at once. One that has been silent while so many others spoke has ended.
constexpr size_t kMostGroups = 1 << 15;
// What no GPU has. Offsets may come from anybody.
constexpr uint64_t kMostLds = 1 << 20;

}  // namespace

void UninitAnalyzer::ForgetOldGroups() {
  std::vector<uint64_t> times;
  for (const auto& [key, group] : groups_) times.push_back(group.last_message);
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::erase_if(groups_, [&](const auto& entry) { return entry.second.last_message < *middle; });
}

void UninitAnalyzer::OnAccess(const AccessMessage& message) {
  if (std::strcmp(message.space, "lds") != 0) return;
  if (groups_.size() > 2 * kMostGroups) ForgetOldGroups();
  Group& group = groups_[{message.dispatch, message.group_number}];
  group.last_message = ++messages_;
  const uint64_t bytes = message.site->bytes;
  const bool reads = message.site->action != "store";
  const bool writes = message.site->action != "load";
  std::vector<bool>& written = group.written;
  // All lanes read before any of them has written.
  uint64_t mask = message.mask;
  for (const uint64_t offset : *message.addresses) {
    const uint64_t lane = mask == 0 ? 0 : __builtin_ctzll(mask);
    mask &= mask - 1;
    const uint64_t end = offset + bytes;
    if (end > kMostLds) continue;  // bounds names it
    if (end > written.size()) written.resize(end);
    if (!reads) continue;
    const auto from = written.begin() + static_cast<ptrdiff_t>(offset);
    if (std::find(from, from + static_cast<ptrdiff_t>(bytes), false) !=
        from + static_cast<ptrdiff_t>(bytes))
      Add(message, lane, offset);
  }
  if (!writes) return;
  for (const uint64_t offset : *message.addresses)
    if (offset + bytes <= kMostLds)
      std::fill_n(written.begin() + static_cast<ptrdiff_t>(offset), bytes, true);
}

void UninitAnalyzer::Add(const AccessMessage& message, uint64_t lane, uint64_t offset) {
  const Location& at = PlaceOf(*message.site);
  Place& place =
      places_[{message.dispatch->kernel, at.file, at.line, at.column, message.site->action}];
  UnwrittenRead& read = place.read;
  if (read.lanes++ == 0) {
    read.kernel = message.dispatch->kernel;
    read.at = at;
    read.action = message.site->action;
    read.bytes = message.site->bytes;
    read.process = message.dispatch->process;
    read.dispatch = message.dispatch->number;
    read.group = message.group_number;
    read.wave = message.wave;
    read.lane = lane;
    read.offset = offset;
  }
  place.groups.insert({message.dispatch, message.group_number});
}

std::vector<UnwrittenRead> UninitAnalyzer::Reads() const {
  std::vector<UnwrittenRead> reads;
  for (const auto& [key, place] : places_) {
    reads.push_back(place.read);
    reads.back().groups = place.groups.size();
  }
  std::stable_sort(reads.begin(), reads.end(), [](const UnwrittenRead& a, const UnwrittenRead& b) {
    return a.lanes > b.lanes;
  });
  return reads;
}

std::string UninitAnalyzer::Answer(const StreamSummary& summary) {
  const std::vector<UnwrittenRead> reads = Reads();
  std::string text;
  if (format_ == AnswerFormat::kJsonLines) {
    for (const UnwrittenRead& read : reads) {
      nlohmann::ordered_json line = PlaceJson(read.at);
      line["kernel"] = read.kernel;
      line["action"] = read.action;
      line["space"] = "lds";
      line["bytes"] = read.bytes;
      line["lanes"] = read.lanes;
      line["groups"] = read.groups;
      line["example"] = {
          {"process", read.process},    {"dispatch", read.dispatch},
          {"group_number", read.group}, {"wave", read.wave},
          {"lane", read.lane},          {"offset", fmt::format("{:x}", read.offset)}};
      text += JsonText(line);
    }
    return text;
  }
  text = DoubtText(summary);
  if (reads.empty()) return text + "Every read of LDS finds what its workgroup has written.\n";
  text += fmt::format("{} {}s LDS that nobody has written.\n\n{:>10} {:>10}  {}\n",
                      PlaceText(reads[0].at), reads[0].action, "LANES", "WORKGROUPS", "PLACE");
  for (const UnwrittenRead& read : reads)
    text += fmt::format(
        "{:>10} {:>10}  {} {}s {} bytes\n{:23}in {}, such as dispatch {}, workgroup {}, wave {}, "
        "lane {}, offset {:#x}\n",
        read.lanes, read.groups, PlaceText(read.at), read.action, read.bytes, "",
        codeobj::Demangle(read.kernel), read.dispatch, read.group, read.wave, read.lane,
        read.offset);
  return text;
}

}  // namespace rochound::probe
