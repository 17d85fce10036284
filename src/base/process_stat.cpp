// SPDX-License-Identifier: MIT
#include "base/process_stat.h"

#include <algorithm>
#include <string>

#include "base/files.h"
#include "base/parse.h"

namespace rochound::base {

std::optional<ProcessStat> ReadProcessStat(pid_t process) {
  const auto text = ReadFile("/proc/" + std::to_string(process) + "/stat");
  if (!text.ok()) return std::nullopt;
  return ParseProcessStat(text.value());
}

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  // PID (NAME) STATE ...; the name may have anything in it.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  text.remove_prefix(name_end + 2);
  constexpr int kState = 3, kParent = 4, kUserTime = 14, kSystemTime = 15, kStart = 22;
  ProcessStat stat;
  for (int field = kState; field <= kStart; ++field) {
    const std::string_view value = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(value.size() + 1, text.size()));
    if (value.empty()) return std::nullopt;
    uint64_t number = 0;
    const bool is_number = ParseNumber(value, &number);
    if (field == kState) {
      stat.state = value[0];
    } else if (field == kParent || field == kUserTime || field == kSystemTime || field == kStart) {
      if (!is_number) return std::nullopt;
      if (field == kParent) stat.parent = static_cast<pid_t>(number);
      if (field == kUserTime || field == kSystemTime) stat.processor_ticks += number;
      if (field == kStart) stat.start_ticks = number;
    }
  }
  return stat;
}

}  // namespace rochound::base
