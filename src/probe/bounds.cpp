// SPDX-License-Identifier: MIT
#include "probe/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

#include "codeobj/demangle.h"

namespace rochound::probe {
namespace {

constexpr size_t kMostFreed = 1 << 16;

const char* KindName(BoundsKind kind) {
  switch (kind) {
    case BoundsKind::kPastEnd:
      return "past_end";
    case BoundsKind::kBeforeStart:
      return "before_start";
    case BoundsKind::kFreed:
      return "freed";
    case BoundsKind::kNowhere:
      break;
  }
  return "nowhere";
}

std::string WhatItDoes(const BadAccess& bad) {
  const std::string whose =
      bad.argument_is_in ? fmt::format(" that argument {} points into", bad.argument) : "";
  switch (bad.kind) {
    case BoundsKind::kPastEnd:
      return bad.lds ? fmt::format("{}s past the end of the workgroup's {} bytes of LDS",
                                   bad.action, bad.size)
                     : fmt::format("{}s past the end of the allocation of {} bytes{}", bad.action,
                                   bad.size, whose);
    case BoundsKind::kBeforeStart:
      return fmt::format("{}s before the start of the allocation of {} bytes{}", bad.action,
                         bad.size, whose);
    case BoundsKind::kFreed:
      return fmt::format("{}s in an allocation of {} bytes that was freed", bad.action, bad.size);
    case BoundsKind::kNowhere:
      break;
  }
  return fmt::format("{}s where nothing is allocated", bad.action);
}

std::string HowFar(const BadAccess& bad) {
  if (bad.kind == BoundsKind::kNowhere) return "";
  return bad.nearest == bad.farthest ? std::to_string(bad.nearest)
                                     : fmt::format("{} to {}", bad.nearest, bad.farthest);
}

}  // namespace

void BoundsAnalyzer::OnMemory(const MemoryMessage& message) {
  Memory& memory = memory_[message.process];
  if (message.size != 0) {
    memory.live[message.base] = {message.base, message.size, message.mapped};
    return;
  }
  const auto gone = memory.live.find(message.base);
  if (gone == memory.live.end()) return;
  if (memory.freed.size() >= kMostFreed)
    memory.freed.erase(memory.freed.begin(), memory.freed.begin() + kMostFreed / 2);
  memory.freed.push_back(gone->second);
  memory.live.erase(gone);
}

BoundsAnalyzer::Allocation BoundsAnalyzer::LiveAt(const Memory& memory, uint64_t address) {
  auto after = memory.live.upper_bound(address);
  if (after == memory.live.begin()) return {};
  auto at = std::prev(after);
  if (!at->second.Has(address)) return {};
  Allocation found = at->second;
  if (!found.mapped) return found;
  for (; after != memory.live.end() && after->second.mapped &&
         after->first == found.base + found.size;
       ++after)
    found.size += after->second.size;
  while (at != memory.live.begin()) {
    --at;
    if (!at->second.mapped || at->first + at->second.size != found.base) break;
    found.base = at->first;
    found.size += at->second.size;
  }
  return found;
}

BoundsAnalyzer::Allocation BoundsAnalyzer::FreedAt(const Memory& memory, uint64_t address) {
  for (auto it = memory.freed.rbegin(); it != memory.freed.rend(); ++it)
    if (it->Has(address)) return *it;
  return {};
}

void BoundsAnalyzer::OnAccess(const AccessMessage& message) {
  const bool lds = std::strcmp(message.space, "lds") == 0;
  if ((!lds && std::strcmp(message.space, "global") != 0) || message.site->bytes == 0) return;
  if (message.site->runtime || message.function->starts_with("__ockl_")) return;
  Allocation own, stale;
  const Memory* memory = nullptr;
  if (lds) {
    own = {0, message.dispatch->lds_bytes, false};
  } else {
    const auto known = memory_.find(message.dispatch->process);
    if (known == memory_.end()) return;  // an agent that does not tell
    memory = &known->second;
    const int argument = message.site->argument;
    const auto& arguments = message.dispatch->arguments;
    if (argument >= 0 && static_cast<size_t>(argument) < arguments.size() &&
        arguments[argument].pointer) {
      own = LiveAt(*memory, arguments[argument].value);
      if (own.size == 0) stale = FreedAt(*memory, arguments[argument].value);
    }
  }
  lds_ |= lds;
  if (!lds && own.size == 0 && stale.size == 0) by_other_pointers_ += message.addresses->size();
  uint64_t mask = message.mask;
  for (const uint64_t address : *message.addresses) {
    const uint64_t lane = mask == 0 ? 0 : __builtin_ctzll(mask);
    mask &= mask - 1;
    if (own.size != 0 && address >= own.base &&
        address + message.site->bytes <= own.base + own.size)
      continue;
    if (lds)
      Add(message, BoundsKind::kPastEnd, own, lane, address, false);
    else
      CheckLane(message, *memory, own, stale, lane, address);
  }
}

void BoundsAnalyzer::CheckLane(const AccessMessage& message, const Memory& memory,
                               const Allocation& own, const Allocation& stale, uint64_t lane,
                               uint64_t address) {
  const Allocation there = LiveAt(memory, address);
  const bool inside = there.size != 0 && address + message.site->bytes <= there.base + there.size;
  if (own.size != 0)
    return Add(message, address < own.base ? BoundsKind::kBeforeStart : BoundsKind::kPastEnd, own,
               lane, address, there.size != 0 && there.base != own.base);
  if (stale.size != 0)
    return Add(message, BoundsKind::kFreed, stale, lane, address, there.size != 0);
  if (inside) return;
  if (there.size != 0) return Add(message, BoundsKind::kPastEnd, there, lane, address, false);
  if (const Allocation freed = FreedAt(memory, address); freed.size != 0)
    return Add(message, BoundsKind::kFreed, freed, lane, address, false);
  // The allocation that is left, if it is near.
  constexpr uint64_t kNear = 1 << 20;
  const auto after = memory.live.upper_bound(address);
  if (after != memory.live.begin()) {
    const Allocation& before = std::prev(after)->second;
    if (address - before.base - before.size < kNear)
      return Add(message, BoundsKind::kPastEnd, before, lane, address, false);
  }
  if (after != memory.live.end() && after->first - address <= kNear)
    return Add(message, BoundsKind::kBeforeStart, after->second, lane, address, false);
  Add(message, BoundsKind::kNowhere, {}, lane, address, false);
}

void BoundsAnalyzer::Add(const AccessMessage& message, BoundsKind kind, const Allocation& left,
                         uint64_t lane, uint64_t address, bool in_another) {
  const Location& at = PlaceOf(*message.site);
  const uint64_t end = left.base + left.size;
  const uint64_t distance = kind == BoundsKind::kPastEnd       ? address - std::min(address, end)
                            : kind == BoundsKind::kBeforeStart ? left.base - address
                            : kind == BoundsKind::kFreed ? address - std::min(address, left.base)
                                                         : 0;
  BadAccess& bad =
      found_[{message.dispatch->kernel, at.file, at.line, at.column, message.site->action, kind}];
  if (bad.lanes++ == 0) {
    bad.kernel = message.dispatch->kernel;
    bad.at = at;
    bad.action = message.site->action;
    bad.lds = std::strcmp(message.space, "lds") == 0;
    bad.bytes = message.site->bytes;
    bad.kind = kind;
    const int argument = message.site->argument;
    if (argument >= 0) {
      const auto& arguments = message.dispatch->arguments;
      const bool named =
          static_cast<size_t>(argument) < arguments.size() && !arguments[argument].name.empty();
      bad.argument = named ? arguments[argument].name : std::to_string(argument);
      bad.argument_is_in =
          static_cast<size_t>(argument) < arguments.size() && left.Has(arguments[argument].value);
    }
    bad.base = left.base;
    bad.size = left.size;
    bad.nearest = distance;
    bad.process = message.dispatch->process;
    bad.dispatch = message.dispatch->number;
    bad.group = message.group_number;
    bad.wave = message.wave;
    bad.lane = lane;
    bad.address = address;
  }
  if (in_another) ++bad.in_another;
  bad.nearest = std::min(bad.nearest, distance);
  bad.farthest = std::max(bad.farthest, distance);
}

std::vector<BadAccess> BoundsAnalyzer::Found() const {
  std::vector<BadAccess> all;
  for (const auto& [key, bad] : found_) all.push_back(bad);
  std::stable_sort(all.begin(), all.end(),
                   [](const BadAccess& a, const BadAccess& b) { return a.lanes > b.lanes; });
  return all;
}

// What the check cannot see is said with it.
std::string BoundsAnalyzer::AllClear() const {
  std::string text = by_other_pointers_ == 0
                         ? "Every access is inside its allocation.\n"
                         : fmt::format(
                               "No access is outside of every allocation. {} of them, counted "
                               "by lanes, go through pointers that are no arguments, such "
                               "as those in memory and structures: they may have met "
                               "another allocation than theirs.\n",
                               by_other_pointers_);
  if (lds_)
    text += "LDS is checked as one piece: one array that runs into the next is not noticed.\n";
  return text;
}

std::string BoundsAnalyzer::Answer(const StreamSummary& summary) {
  const std::vector<BadAccess> all = Found();
  std::string text;
  if (format_ == AnswerFormat::kJsonLines) {
    for (const BadAccess& bad : all) {
      nlohmann::ordered_json line = PlaceJson(bad.at);
      line["kernel"] = bad.kernel;
      line["action"] = bad.action;
      line["space"] = bad.lds ? "lds" : "global";
      line["bytes"] = bad.bytes;
      line["kind"] = KindName(bad.kind);
      line["lanes"] = bad.lanes;
      line["in_another"] = bad.in_another;
      line["argument"] = bad.argument;
      line["allocation"] = {{"base", fmt::format("{:x}", bad.base)}, {"size", bad.size}};
      line["nearest"] = bad.nearest;
      line["farthest"] = bad.farthest;
      line["example"] = {
          {"process", bad.process},    {"dispatch", bad.dispatch},
          {"group_number", bad.group}, {"wave", bad.wave},
          {"lane", bad.lane},          {"address", fmt::format("{:x}", bad.address)}};
      text += JsonText(line);
    }
    return text;
  }
  text = DoubtText(summary);
  if (memory_.empty() && summary.accesses != 0)
    text += "The recording does not say what was allocated: only LDS was checked.\n";
  if (all.empty()) return text + AllClear();
  text += fmt::format("{} {}.\n\n{:>10} {:>10} {:>16}  {}\n", PlaceText(all[0].at),
                      WhatItDoes(all[0]), "LANES", "IN ANOTHER", "BYTES AWAY", "PLACE");
  for (const BadAccess& bad : all)
    text += fmt::format(
        "{:>10} {:>10} {:>16}  {} {}\n{:40}in {}, such as dispatch {}, workgroup {}, wave {}, "
        "lane {}, {} {:#x}\n",
        bad.lanes, bad.in_another, HowFar(bad), PlaceText(bad.at), WhatItDoes(bad), "",
        codeobj::Demangle(bad.kernel), bad.dispatch, bad.group, bad.wave, bad.lane,
        bad.lds ? "offset" : "address", bad.address);
  return text +
         "\nIN ANOTHER: lanes that met another allocation. BYTES AWAY: from the end or the start "
         "that was left; in freed memory, from its start.\n";
}

}  // namespace rochound::probe
