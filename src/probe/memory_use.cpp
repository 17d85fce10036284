// SPDX-License-Identifier: MIT
#include "probe/memory_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

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

std::string Place(const Location& at) {
  return at.file.empty() ? "(no line)" : fmt::format("{}:{}:{}", at.file, at.line, at.column);
}

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double UsedShare(const MemoryUse& use) {
  return Share(use.used_bytes, use.lines * MemoryAnalyzer::kLineBytes);
}

}  // namespace

void MemoryAnalyzer::Add(const AccessMessage& message) {
  if (std::strcmp(message.space, "global") != 0 || message.addresses->empty() ||
      message.site->bytes == 0)
    return;
  // Of another process, both may lie where those of the last one were.
  if (message.site != last_site_ || message.dispatch != last_dispatch_ ||
      message.dispatch->process != last_process_) {
    const Location none;
    const Location& at = message.site->at.empty() ? none : message.site->at[0];
    Site& site = sites_[{message.dispatch->kernel, at.file, at.line, at.column,
                         message.site->action, message.site->bytes}];
    site.use.kernel = message.dispatch->kernel;
    site.use.at = at;
    site.use.action = message.site->action;
    site.use.bytes = message.site->bytes;
    last_site_ = message.site;
    last_dispatch_ = message.dispatch;
    last_process_ = message.dispatch->process;
    last_ = &site;
  }
  Site& site = *last_;
  MemoryUse& use = site.use;
  ++use.accesses;
  use.lanes += message.addresses->size();
  // Lanes that are not active have gaps between them, which a stride has to cross.
  uint64_t previous_address = 0;
  int previous_lane = -1;
  uint64_t mask = message.mask;
  for (const uint64_t address : *message.addresses) {
    const int lane = mask == 0 ? previous_lane + 1 : __builtin_ctzll(mask);
    mask &= mask - 1;
    if (address % use.bytes != 0) ++use.misaligned;
    if (previous_lane >= 0) {
      const auto distance = static_cast<int64_t>(address - previous_address);
      const int64_t lanes = lane - previous_lane;
      if (distance % lanes != 0 || (site.has_stride && distance / lanes != site.stride))
        site.irregular = true;
      site.has_stride = true;
      site.stride = distance / lanes;
    }
    previous_address = address;
    previous_lane = lane;
  }
  sorted_ = *message.addresses;
  const Touched touched = TouchedBy(&sorted_, use.bytes);
  use.lines += touched.lines;
  use.used_bytes += touched.bytes;
  use.needed_lines += (touched.bytes + kLineBytes - 1) / kLineBytes;
}

std::vector<MemoryUse> MemoryAnalyzer::Uses() const {
  std::vector<MemoryUse> uses;
  for (const auto& [key, site] : sites_) {
    uses.push_back(site.use);
    uses.back().pattern = PatternName(site.has_stride, site.irregular, site.stride, site.use.bytes);
  }
  std::stable_sort(uses.begin(), uses.end(), [](const MemoryUse& a, const MemoryUse& b) {
    return a.lines - a.needed_lines > b.lines - b.needed_lines;
  });
  return uses;
}

std::string MemoryText(const std::vector<MemoryUse>& uses) {
  if (uses.empty()) return "No access to global memory.\n";
  std::string text;
  const MemoryUse& worst = uses[0];
  if (worst.lines > worst.needed_lines)
    text = fmt::format("{} {}s {:.1f} times the cache lines that its bytes need: {}.\n\n",
                       Place(worst.at), worst.action, Share(worst.lines, worst.needed_lines),
                       worst.pattern);
  else
    text = "Every access to global memory touches no more cache lines than it needs.\n\n";
  text +=
      fmt::format("{:>10} {:>12} {:>12} {:>12} {:>6} {:>10}  {:<7} {:<24} {}\n", "ACCESSES",
                  "LANES", "LINES", "NEEDED", "USED", "MISALIGNED", "ACTION", "ADDRESSES", "PLACE");
  for (const MemoryUse& use : uses)
    text += fmt::format("{:>10} {:>12} {:>12} {:>12} {:>5.0f}% {:>10}  {:<7} {:<24} {} in {}\n",
                        use.accesses, use.lanes, use.lines, use.needed_lines, 100 * UsedShare(use),
                        use.misaligned, fmt::format("{} {}", use.action, use.bytes), use.pattern,
                        Place(use.at), codeobj::Demangle(use.kernel));
  return text + fmt::format("\nLines of {} bytes, counted for each access of a wave by itself.\n",
                            MemoryAnalyzer::kLineBytes);
}

std::string MemoryJsonLines(const std::vector<MemoryUse>& uses) {
  std::string text;
  for (const MemoryUse& use : uses) {
    const nlohmann::ordered_json line = {{"kernel", use.kernel},
                                         {"file", use.at.file},
                                         {"line", use.at.line},
                                         {"column", use.at.column},
                                         {"action", use.action},
                                         {"bytes", use.bytes},
                                         {"accesses", use.accesses},
                                         {"lanes", use.lanes},
                                         {"line_bytes", MemoryAnalyzer::kLineBytes},
                                         {"lines", use.lines},
                                         {"needed_lines", use.needed_lines},
                                         {"used_bytes", use.used_bytes},
                                         {"misaligned", use.misaligned},
                                         {"addresses", use.pattern}};
    text += line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  return text;
}

}  // namespace rochound::probe
