// SPDX-License-Identifier: MIT
#include "report/show_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/printable.h"

namespace rochound::report {

std::string Plain(std::string_view text) {
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(' ') + 1, text.size()));
  return base::Printable(text);
}

std::string HumanBytes(uint64_t bytes) {
  if (bytes == 1) return "1 byte";
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  uint64_t scale = 1024;
  while (unit + 1 < std::size(kUnits) && bytes / scale >= 1024) {
    scale *= 1024;
    ++unit;
  }
  if (bytes % scale == 0) return fmt::format("{} {}", bytes / scale, kUnits[unit]);
  return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(scale),
                     kUnits[unit]);
}

std::string Shape(const std::array<uint32_t, 3>& sizes) {
  return fmt::format("{}x{}x{}", sizes[0], sizes[1], sizes[2]);
}

Columns::Columns(std::vector<std::string> titles) {
  for (std::string& title : titles) {
    right_.push_back(title.starts_with('>'));
    if (right_.back()) title.erase(0, 1);
  }
  rows_.push_back(std::move(titles));
}

std::string Columns::Text(std::string_view indent) const {
  std::vector<size_t> widths(right_.size(), 0);
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows_) {
    text += indent;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      const bool last = i + 1 == row.size();
      text += right_[i] ? padding + row[i] : last ? row[i] : row[i] + padding;
      if (!last) text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace rochound::report
