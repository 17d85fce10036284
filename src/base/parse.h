// SPDX-License-Identifier: MIT
//
// Small steps of reading text. Any thread.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace rochound::base {

// False: the text is not one whole number that fits. `number` may have changed all the same.
template <typename Number>
bool ParseNumber(std::string_view text, Number* number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  return error == std::errc() && end == text.data() + text.size();
}

// Takes everything up to the separator, or all there is, off the front of text. The separator goes
// too.
inline std::string_view TakeUntil(std::string_view* text, char separator) {
  const size_t end = text->find(separator);
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return part;
}

}  // namespace rochound::base
