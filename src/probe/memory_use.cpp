// SPDX-License-Identifier: MIT
#include "probe/memory_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "base/lds_banks.h"
#include "base/units.h"
#include "codeobj/demangle.h"

namespace rochound::probe {
namespace {

struct Touched {
  uint64_t lines = 0;
  uint64_t bytes = 0;
};

// Lines and bytes of ranges of one length; sorts the addresses.
Touched TouchedBy(std::vector<uint64_t>* addresses, uint64_t bytes) {
  std::sort(addresses->begin(), addresses->end());
  Touched touched;
  uint64_t bytes_end = 0;  // of what was counted
  uint64_t next_line = 0;  // first that was not
  constexpr uint64_t kLine = MemoryAnalyzer::kLineBytes;
  for (const uint64_t address : *addresses) {
    const uint64_t end = address + bytes;
    touched.bytes += end - std::clamp(bytes_end, address, end);
    bytes_end = std::max(bytes_end, end);
    const uint64_t first = std::max(address / kLine, next_line);
    const uint64_t last = (end - 1) / kLine;
    if (last >= first) touched.lines += last - first + 1;
    next_line = std::max(next_line, last + 1);
  }
  return touched;
}

std::string PatternName(bool has_stride, bool irregular, int64_t stride, uint64_t bytes) {
  if (irregular) return "irregular";
  if (!has_stride) return "one lane";
  if (stride == 0) return "same address";
  if (stride == static_cast<int64_t>(bytes)) return "side by side";
  if (stride == -static_cast<int64_t>(bytes)) return "side by side, backwards";
  return fmt::format("stride {}", stride);
}

double UsedShare(const MemoryUse& use) {
  return base::Share(use.used_bytes, use.lines * MemoryAnalyzer::kLineBytes);
}

std::string Sentence(const MemoryUse& worst) {
  if (worst.Waste() == 0)
    return worst.lds ? "No access to LDS has bank conflicts.\n"
                     : "Every access to global memory touches no more cache lines than it needs.\n";
  if (worst.lds)
    return fmt::format(
        "{} {}s {:.1f} times the cycles that LDS needs without bank conflicts: {}.\n",
        PlaceText(worst.at), worst.action,
        base::Share(worst.cycles, worst.cycles - worst.bank_conflicts), worst.pattern);
  return fmt::format("{} {}s {:.1f} times the cache lines that its bytes need: {}.\n",
                     PlaceText(worst.at), worst.action,
                     base::Share(worst.lines, worst.needed_lines), worst.pattern);
}

std::string GlobalTable(const std::vector<MemoryUse>& uses) {
  std::string text =
      fmt::format("\n{:>10} {:>12} {:>12} {:>12} {:>6} {:>10}  {:<7} {:<24} {}\n", "ACCESSES",
                  "LANES", "LINES", "NEEDED", "USED", "MISALIGNED", "ACTION", "ADDRESSES", "PLACE");
  for (const MemoryUse& use : uses)
    if (!use.lds)
      text +=
          fmt::format("{:>10} {:>12} {:>12} {:>12} {:>5.0f}% {:>10}  {:<7} {:<24} {} in {}\n",
                      use.accesses, use.lanes, use.lines, use.needed_lines, 100 * UsedShare(use),
                      use.misaligned, fmt::format("{} {}", use.action, use.bytes), use.pattern,
                      PlaceText(use.at), codeobj::Demangle(use.kernel));
  return text + fmt::format("\nLines of {} bytes, counted for each access of a wave by itself.\n",
                            MemoryAnalyzer::kLineBytes);
}

std::string LdsTable(const std::vector<MemoryUse>& uses) {
  std::string text = fmt::format("\n{:>10} {:>12} {:>12} {:>12} {:>12} {:>10}  {:<7} {:<24} {}\n",
                                 "ACCESSES", "LANES", "LDS CYCLES", "BANK", "SAME DWORD",
                                 "MISALIGNED", "ACTION", "ADDRESSES", "PLACE");
  for (const MemoryUse& use : uses)
    if (use.lds)
      text += fmt::format("{:>10} {:>12} {:>12} {:>12} {:>12} {:>10}  {:<7} {:<24} {} in {}\n",
                          use.accesses, use.lanes, use.cycles, use.bank_conflicts,
                          use.address_conflicts, use.misaligned,
                          fmt::format("{} {}", use.action, use.bytes), use.pattern,
                          PlaceText(use.at), codeobj::Demangle(use.kernel));
  return text +
         "\nBANK: cycles since lanes want different dwords of one bank. SAME DWORD: cycles since "
         "atomics of several lanes want one.\n";
}

std::string JsonLine(const MemoryUse& use) {
  nlohmann::ordered_json line = {{"kernel", use.kernel},    {"file", use.at.file},
                                 {"line", use.at.line},     {"column", use.at.column},
                                 {"action", use.action},    {"space", use.lds ? "lds" : "global"},
                                 {"bytes", use.bytes},      {"accesses", use.accesses},
                                 {"lanes", use.lanes},      {"misaligned", use.misaligned},
                                 {"addresses", use.pattern}};
  if (use.lds) {
    line["cycles"] = use.cycles;
    line["bank_conflicts"] = use.bank_conflicts;
    line["address_conflicts"] = use.address_conflicts;
  } else {
    line["line_bytes"] = MemoryAnalyzer::kLineBytes;
    line["lines"] = use.lines;
    line["needed_lines"] = use.needed_lines;
    line["used_bytes"] = use.used_bytes;
  }
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

MemoryAnalyzer::Place& MemoryAnalyzer::PlaceFor(const AccessMessage& message, bool lds) {
  if (message.site != last_site_ || message.dispatch != last_dispatch_ || lds != last_lds_) {
    const Location& at = PlaceOf(*message.site);
    const bool scalar = std::strcmp(message.space, "scalar") == 0;
    Place& place = places_[{lds, message.dispatch->kernel, at.file, at.line, at.column,
                            message.site->action, message.site->bytes, scalar}];
    place.scalar = scalar;
    place.use.kernel = message.dispatch->kernel;
    place.use.at = at;
    place.use.action = message.site->action;
    place.use.lds = lds;
    place.use.bytes = message.site->bytes;
    last_site_ = message.site;
    last_dispatch_ = message.dispatch;
    last_lds_ = lds;
    last_ = &place;
  }
  return *last_;
}

void MemoryAnalyzer::OnAccess(const AccessMessage& message) {
  const bool lds = std::strcmp(message.space, "lds") == 0;
  if ((!lds && std::strcmp(message.space, "global") != 0 &&
       std::strcmp(message.space, "scalar") != 0) ||
      message.addresses->empty() || message.site->bytes == 0)
    return;
  Place& place = PlaceFor(message, lds);
  MemoryUse& use = place.use;
  ++use.accesses;
  use.lanes += message.addresses->size();
  // What the machine joins is aligned as its parts are.
  const uint64_t aligned = message.site->source_bytes != 0 ? message.site->source_bytes : use.bytes;
  // Lanes that are not active have gaps between them, which a stride has to cross.
  uint64_t previous_address = 0;
  int previous_lane = -1;
  uint64_t mask = message.mask;
  for (const uint64_t address : *message.addresses) {
    const int lane = mask == 0 ? previous_lane + 1 : __builtin_ctzll(mask);
    mask &= mask - 1;
    if (address % aligned != 0) ++use.misaligned;
    if (previous_lane >= 0) {
      const auto distance = static_cast<int64_t>(address - previous_address);
      const int64_t lanes = lane - previous_lane;
      if (distance % lanes != 0 || (place.has_stride && distance / lanes != place.stride))
        place.irregular = true;
      place.has_stride = true;
      place.stride = distance / lanes;
    }
    previous_address = address;
    previous_lane = lane;
  }
  if (lds) return AddCycles(message, &use);
  sorted_ = *message.addresses;
  AddLines(&use);
}

void MemoryAnalyzer::AddLines(MemoryUse* use) {
  const Touched touched = TouchedBy(&sorted_, use->bytes);
  use->lines += touched.lines;
  use->used_bytes += touched.bytes;
  use->needed_lines += (touched.bytes + kLineBytes - 1) / kLineBytes;
}

// What is wider than an instruction becomes several.
void MemoryAnalyzer::AddCycles(const AccessMessage& message, MemoryUse* use) {
  constexpr uint64_t kWidest = 16;
  const base::LdsGrouping grouping = base::LdsGroupingOf(message.dispatch->target);
  const base::LdsAction action = use->action == "load"    ? base::LdsAction::kLoad
                                 : use->action == "store" ? base::LdsAction::kStore
                                                          : base::LdsAction::kAtomic;
  std::array<base::LdsLane, 64> lanes;
  for (uint64_t done = 0; done < use->bytes; done += kWidest) {
    const auto bytes = static_cast<uint32_t>(std::min(kWidest, use->bytes - done));
    size_t count = 0;
    uint64_t mask = message.mask;
    for (const uint64_t address : *message.addresses) {
      if (mask == 0) break;
      lanes[count++] = {address + done, bytes, static_cast<uint32_t>(__builtin_ctzll(mask))};
      mask &= mask - 1;
    }
    const base::LdsCost cost =
        base::CountLdsCycles(grouping, action, bytes, std::span(lanes.data(), count));
    use->cycles += cost.cycles;
    use->bank_conflicts += cost.bank_conflicts;
    use->address_conflicts += cost.address_conflicts;
  }
}

std::vector<MemoryUse> MemoryAnalyzer::Uses() const {
  std::vector<MemoryUse> uses;
  for (const auto& [key, place] : places_) {
    uses.push_back(place.use);
    uses.back().pattern = place.scalar ? "scalar"
                                       : PatternName(place.has_stride, place.irregular,
                                                     place.stride, place.use.bytes);
  }
  std::stable_sort(uses.begin(), uses.end(), [](const MemoryUse& a, const MemoryUse& b) {
    return a.lds != b.lds ? b.lds : a.Waste() > b.Waste();
  });
  return uses;
}

std::string MemoryAnalyzer::Answer(const StreamSummary&) {
  const std::vector<MemoryUse> uses = Uses();
  std::string text;
  if (format_ == AnswerFormat::kJsonLines) {
    for (const MemoryUse& use : uses) text += JsonLine(use);
    return text;
  }
  const auto lds =
      std::find_if(uses.begin(), uses.end(), [](const MemoryUse& use) { return use.lds; });
  text = lds == uses.begin() ? "No access to global memory.\n" : Sentence(uses[0]);
  if (lds != uses.end()) text += Sentence(*lds);
  if (lds != uses.begin()) text += GlobalTable(uses);
  if (lds != uses.end()) text += LdsTable(uses);
  return text;
}

}  // namespace rochound::probe
