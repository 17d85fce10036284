// SPDX-License-Identifier: MIT
//
// Tables as rocprofv3 writes them. Pure functions, any thread; the text may come from anybody.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::profile {

// Records: fields in quotes may hold commas, line ends and doubled quotes.
std::vector<std::vector<std::string>> ParseCsv(std::string_view text);

// The whole text, or nothing.
template <typename Number>
std::optional<Number> NumberIn(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace rochound::profile
