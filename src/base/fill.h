// SPDX-License-Identifier: MIT
//
// Messages of code that is loaded into other people's programs, where fmt would bring 0.5 MB of
// formatting and locales along. Any thread; never fails.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

namespace rochound::base {

// What takes the place of one {}: a text, a character or a number.
class Filling {
 public:
  Filling(std::string_view text) : text_(text) {}
  Filling(const std::string& text) : text_(text) {}
  Filling(const char* text) : text_(text) {}
  Filling(char character) : text_(1, character) {}
  template <std::integral Number>
  Filling(Number number) : text_(std::to_string(number)) {}

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The pattern with one filling for each {}, in their order. A {} without a filling stays; fillings
// without a {} are left out.
std::string FillPattern(std::string_view pattern, std::initializer_list<Filling> fillings);

template <typename... Values>
std::string Fill(std::string_view pattern, const Values&... values) {
  return FillPattern(pattern, {Filling(values)...});
}

}  // namespace rochound::base
