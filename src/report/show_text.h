// SPDX-License-Identifier: MIT
//
// Small pieces of text for `rochound show`: columns, sizes, and what somebody else's file says made
// harmless for a terminal. Pure, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::report {

// Names come from files that anybody may have written (base/printable.h). Spaces at the end go.
std::string Plain(std::string_view text);

// "512 bytes", "64 KiB", "1.5 MiB": exact where that is short.
std::string HumanBytes(uint64_t bytes);

// "1024x1x1"
std::string Shape(const std::array<uint32_t, 3>& sizes);

// Rows of cells in columns, two spaces apart. A title that begins with '>' is of a column that
// is to the right; the last column is never padded.
class Columns {
 public:
  explicit Columns(std::vector<std::string> titles);
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string Text(std::string_view indent) const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;  // the first are the titles
};

}  // namespace rochound::report
