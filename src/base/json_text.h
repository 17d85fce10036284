// SPDX-License-Identifier: MIT
//
// JSON that is made as text at once, for code that runs inside somebody's program. A library's tree
// of values needs memory when it is destroyed, and ends the program if there is none; a text does
// not. Each value is complete text; adding it to another copies it. Not shared between threads.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace rochound::base {

// Appends the text in quotes. Bytes that are no UTF-8 become U+FFFD.
void AppendJsonString(std::string_view value, std::string* text);

class JsonText {
 public:
  using Field = std::pair<const char*, JsonText>;

  static JsonText Array() { return JsonText('[', ']'); }
  static JsonText Object() { return JsonText('{', '}'); }

  JsonText(std::nullptr_t) : text_("null") {}
  JsonText(std::same_as<bool> auto value) : text_(value ? "true" : "false") {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  JsonText(T value) : text_(std::to_string(value)) {}
  JsonText(std::string_view value) { AppendJsonString(value, &text_); }
  JsonText(const std::string& value) : JsonText(std::string_view(value)) {}
  JsonText(const char* value) : JsonText(std::string_view(value)) {}
  JsonText(std::initializer_list<Field> fields) : JsonText('{', '}') {
    for (const Field& field : fields) Add(field.first, field.second);
  }

  void Add(const JsonText& value);  // to an array
  // To an object that has no field of that name.
  void Add(std::string_view name, const JsonText& value);

  size_t size() const { return size_; }  // of an array or object
  const std::string& text() const { return text_; }

 private:
  JsonText(char open, char close) : text_({open, close}) {}
  void Separate();

  std::string text_;
  size_t size_ = 0;
};

}  // namespace rochound::base
