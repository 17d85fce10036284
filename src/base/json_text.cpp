// SPDX-License-Identifier: MIT
#include "base/json_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace rochound::base {

void AppendJsonString(std::string_view value, std::string* text) {
  constexpr char kDigits[] = "0123456789abcdef";
  *text += '"';
  while (!value.empty()) {
    const size_t bytes = Utf8Length(value);
    const auto first = static_cast<unsigned char>(value[0]);
    if (bytes == 0) {
      *text += "\xef\xbf\xbd";
    } else if (first < 0x20) {
      *text += "\\u00";
      *text += kDigits[first >> 4];
      *text += kDigits[first & 15];
    } else {
      if (first == '"' || first == '\\') *text += '\\';
      *text += value.substr(0, bytes);
    }
    value.remove_prefix(std::max<size_t>(bytes, 1));
  }
  *text += '"';
}

void JsonText::Separate() {
  if (size_++ != 0) text_ += ",\n";
}

void JsonText::Add(const JsonText& value) {
  const char close = text_.back();
  text_.pop_back();
  Separate();
  text_ += value.text_;
  text_ += close;
}

void JsonText::Add(std::string_view name, const JsonText& value) {
  const char close = text_.back();
  text_.pop_back();
  Separate();
  AppendJsonString(name, &text_);
  text_ += ": ";
  text_ += value.text_;
  text_ += close;
}

}  // namespace rochound::base
