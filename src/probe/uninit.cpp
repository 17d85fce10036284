// SPDX-License-Identifier: MIT
#include "probe/uninit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
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
  if (std::strcmp(message.space, "lds") == 0)
    OnLds(message);
  else if (std::strcmp(message.space, "global") == 0 && !message.site->runtime)
    OnGlobal(message);
}

void UninitAnalyzer::OnMemory(const MemoryMessage& message) {
  Forget(message.process, message.base);
  if (message.size == 0 || (!message.on_gpu && !message.mapped)) return;
  Memory& memory = memory_[{message.process, message.base}];
  memory.size = message.size;
  // The program may map it a second time, and write it there.
  memory.unknown = message.mapped;
}

// What was copied from there is, from now on, what was written there by now.
void UninitAnalyzer::Forget(uint64_t process, uint64_t base) {
  const auto gone = memory_.find({process, base});
  if (gone == memory_.end()) return;
  const Memory source = std::move(gone->second);
  for (auto& [key, memory] : memory_) {
    if (key.first != process || &memory == &gone->second) continue;
    std::erase_if(memory.copies, [&](const Copy& copy) {
      if (copy.source - base >= source.size) return false;
      const uint64_t offset = copy.source - base;
      if (source.unknown || !source.copies.empty()) memory.unknown = true;
      for (const auto& [from, to] : source.written)
        if (to > offset && from < offset + (copy.to - copy.from))
          Write(&memory, copy.from + std::max(from, offset) - offset,
                std::min(copy.to, copy.from + to - offset));
      return true;
    });
  }
  memory_.erase(gone);
}

void UninitAnalyzer::AddCopy(Memory* memory, const Copy& copy, uint64_t process) {
  constexpr size_t kMost = 256;  // that are looked through for one byte
  if (Find(process, copy.source) == memory_.end()) return Write(memory, copy.from, copy.to);
  if (std::find(memory->copies.begin(), memory->copies.end(), copy) != memory->copies.end()) return;
  if (memory->copies.size() < kMost)
    memory->copies.push_back(copy);
  else
    memory->unknown = true;
}

void UninitAnalyzer::OnWritten(const WrittenMessage& message) {
  using What = WrittenMessage::What;
  if (message.what == What::kAllTold) {
    watched_.insert(message.process);
  } else if (message.what == What::kAll) {
    for (auto& [key, memory] : memory_)
      if (key.first == message.process) memory.unknown = true;
  } else if (const auto found = Find(message.process, message.address); found != memory_.end()) {
    Memory& memory = found->second;
    const uint64_t from = message.address - found->first.second;
    const uint64_t to = from + std::min(message.bytes, memory.size - from);
    if (message.what == What::kAllocation)
      memory.unknown = true;
    else if (message.what == What::kCopy)
      AddCopy(&memory, {from, to, message.source}, message.process);
    else
      Write(&memory, from, to);
  }
}

UninitAnalyzer::Memories::iterator UninitAnalyzer::Find(uint64_t process, uint64_t address) {
  auto found = memory_.upper_bound({process, address});
  if (found == memory_.begin()) return memory_.end();
  --found;
  return found->first.first == process && address - found->first.second < found->second.size
             ? found
             : memory_.end();
}

UninitAnalyzer::Found UninitAnalyzer::Look(uint64_t process, const Memory& memory, uint64_t from,
                                           uint64_t to) {
  const auto after = memory.written.upper_bound(from);
  if (after != memory.written.begin() && std::prev(after)->second >= to) return Found::kWritten;
  Found found = Found::kWritten;
  for (uint64_t at = from; at < to && found != Found::kUnwritten; ++at) {
    const Found byte = LookThroughCopies(process, memory, at, 0);
    if (byte != Found::kWritten) found = byte;
  }
  return found;
}

UninitAnalyzer::Found UninitAnalyzer::LookThroughCopies(uint64_t process, const Memory& memory,
                                                        uint64_t at, int depth) {
  constexpr int kDeepest = 8;
  const auto after = memory.written.upper_bound(at);
  if (after != memory.written.begin() && std::prev(after)->second > at) return Found::kWritten;
  if (memory.unknown || depth == kDeepest) return Found::kUnknown;
  Found found = Found::kUnwritten;
  for (const Copy& copy : memory.copies) {
    if (at < copy.from || at >= copy.to) continue;
    const auto source = Find(process, copy.source + (at - copy.from));
    if (source == memory_.end()) return Found::kWritten;
    const uint64_t there = copy.source + (at - copy.from) - source->first.second;
    const Found one = LookThroughCopies(process, source->second, there, depth + 1);
    if (one == Found::kWritten) return one;
    if (one == Found::kUnknown) found = one;
  }
  return found;
}

void UninitAnalyzer::Write(Memory* memory, uint64_t from, uint64_t to) {
  if (from >= to) return;
  // Those that touch it become one with it.
  auto next = memory->written.upper_bound(from);
  if (next != memory->written.begin() && std::prev(next)->second >= from) --next;
  while (next != memory->written.end() && next->first <= to) {
    from = std::min(from, next->first);
    to = std::max(to, next->second);
    next = memory->written.erase(next);
  }
  memory->written[from] = to;
}

void UninitAnalyzer::OnGlobal(const AccessMessage& message) {
  const uint64_t process = message.dispatch->process;
  if (!watched_.contains(process)) {
    unwatched_ = true;
    return;
  }
  const uint64_t bytes = message.site->bytes;
  uint64_t mask = message.mask;
  // All lanes read before any of them has written.
  for (const uint64_t address : *message.addresses) {
    const uint64_t lane = mask == 0 ? 0 : __builtin_ctzll(mask);
    mask &= mask - 1;
    if (message.site->action == "store") continue;
    const auto found = Find(process, address);
    if (found == memory_.end()) continue;
    const uint64_t from = address - found->first.second;
    // What is outside, bounds names.
    const Found look =
        Look(process, found->second, from, std::min(from + bytes, found->second.size));
    ++judged_;
    if (look == Found::kUnknown) ++unknown_;
    if (look == Found::kUnwritten) Add(message, lane, from, found->first.second);
  }
  if (message.site->action == "load") return;
  for (const uint64_t address : *message.addresses) {
    const auto found = Find(process, address);
    if (found == memory_.end()) continue;
    const uint64_t from = address - found->first.second;
    Write(&found->second, from, std::min(from + bytes, found->second.size));
  }
}

void UninitAnalyzer::OnLds(const AccessMessage& message) {
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
      Add(message, lane, offset, 0);
  }
  if (!writes) return;
  for (const uint64_t offset : *message.addresses)
    if (offset + bytes <= kMostLds)
      std::fill_n(written.begin() + static_cast<ptrdiff_t>(offset), bytes, true);
}

void UninitAnalyzer::Add(const AccessMessage& message, uint64_t lane, uint64_t offset,
                         uint64_t allocation) {
  const Location& at = PlaceOf(*message.site);
  Place& place = places_[{message.dispatch->kernel, allocation == 0, at.file, at.line, at.column,
                          message.site->action}];
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
    read.lds = allocation == 0;
    read.allocation = allocation;
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

// Why nothing is said about device memory; empty: it is.
std::string UninitAnalyzer::WhyNotJudged(const StreamSummary& summary) const {
  if (unwatched_)
    return "who else wrote it was not recorded, or not all waves send messages: probe with -a "
           "uninit, without filters";
  if (!summary.unprobed.empty()) return "places without a probe may write it";
  if (summary.Incomplete()) return "messages are missing";
  return {};
}

std::string UninitAnalyzer::Answer(const StreamSummary& summary) {
  const std::string why_not = WhyNotJudged(summary);
  std::vector<UnwrittenRead> reads = Reads();
  if (!why_not.empty()) std::erase_if(reads, [](const UnwrittenRead& read) { return !read.lds; });
  std::string text;
  if (format_ == AnswerFormat::kJsonLines) {
    for (const UnwrittenRead& read : reads) {
      nlohmann::ordered_json line = PlaceJson(read.at);
      line["kernel"] = read.kernel;
      line["action"] = read.action;
      line["space"] = read.lds ? "lds" : "global";
      line["bytes"] = read.bytes;
      line["lanes"] = read.lanes;
      line["groups"] = read.groups;
      line["example"] = {
          {"process", read.process},    {"dispatch", read.dispatch},
          {"group_number", read.group}, {"wave", read.wave},
          {"lane", read.lane},          {"offset", fmt::format("{:x}", read.offset)}};
      if (!read.lds) line["example"]["allocation"] = fmt::format("{:x}", read.allocation);
      text += JsonText(line);
    }
    return text;
  }
  text = DoubtText(summary);
  const auto any = [&](bool lds) {
    return std::any_of(reads.begin(), reads.end(),
                       [&](const UnwrittenRead& read) { return read.lds == lds; });
  };
  if (!any(true)) text += "Every read of LDS finds what its workgroup has written.\n";
  if (!why_not.empty())
    text += fmt::format("Device memory is not judged: {}.\n", why_not);
  else if (!any(false) && unknown_ == 0)
    text += "Every read of device memory finds what was written there.\n";
  if (why_not.empty() && unknown_ != 0)
    text += fmt::format(
        "Of {} reads of device memory by a lane, {} are not judged: a kernel without probes, or a "
        "copy whose bytes are not told, may have written there.\n",
        judged_, unknown_);
  if (reads.empty()) return text;
  for (const bool lds : {true, false}) {
    const auto first = std::find_if(reads.begin(), reads.end(),
                                    [&](const UnwrittenRead& read) { return read.lds == lds; });
    if (first != reads.end())
      text += fmt::format("{} {}s {} that nobody has written.\n", PlaceText(first->at),
                          first->action, lds ? "LDS" : "device memory");
  }
  text += fmt::format("\n{:>10} {:>10}  {}\n", "LANES", "WORKGROUPS", "PLACE");
  for (const UnwrittenRead& read : reads)
    text += fmt::format(
        "{:>10} {:>10}  {} {}s {} bytes of {}\n{:23}in {}, such as dispatch {}, workgroup {}, "
        "wave {}, lane {}, offset {:#x}{}\n",
        read.lanes, read.groups, PlaceText(read.at), read.action, read.bytes,
        read.lds ? "LDS" : "device memory", "", codeobj::Demangle(read.kernel), read.dispatch,
        read.group, read.wave, read.lane, read.offset,
        read.lds ? "" : fmt::format(" of the allocation at {:#x}", read.allocation));
  return text;
}

}  // namespace rochound::probe
