// SPDX-License-Identifier: MIT
#include "codeobj/cache_list.h"

#include <array>
#include <charconv>
#include <string>

namespace rochound::codeobj {

std::string CacheLine(const CacheEntry& entry) {
  std::string line = std::to_string(entry.round);
  for (const std::string* field : {&entry.symbol, &entry.called, &entry.object, &entry.file}) {
    if (field->find_first_of("\t\n") != std::string::npos) return {};
    line += '\t' + *field;
  }
  return line + '\n';
}

std::optional<CacheEntry> ReadCacheLine(std::string_view line) {
  std::array<std::string_view, 5> fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t end = line.find('\t');
    if ((end == std::string_view::npos) != (i + 1 == fields.size())) return std::nullopt;
    fields[i] = line.substr(0, end);
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  CacheEntry entry;
  const auto [end, error] =
      std::from_chars(fields[0].data(), fields[0].data() + fields[0].size(), entry.round);
  if (error != std::errc() || end != fields[0].data() + fields[0].size()) return std::nullopt;
  entry.symbol = fields[1];
  entry.called = fields[2];
  entry.object = fields[3];
  entry.file = fields[4];
  return entry;
}

std::string WithoutParameters(std::string_view readable) {
  // The list is the last thing in parentheses: names may hold others ("(anonymous namespace)").
  if (readable.empty() || readable.back() != ')') return std::string(readable);
  int depth = 0;
  for (size_t at = readable.size(); at-- > 0;) {
    depth += readable[at] == ')' ? 1 : readable[at] == '(' ? -1 : 0;
    if (depth == 0) return std::string(readable.substr(0, at));
  }
  return std::string(readable);
}

}  // namespace rochound::codeobj
