// SPDX-License-Identifier: MIT
#include "base/csv.h"

#include <string_view>

namespace rochound::base {

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string CsvText(const std::string& text) {
  const bool formula =
      !text.empty() && std::string_view("=+-@\t").find(text.front()) != std::string_view::npos;
  return CsvField(formula ? "'" + text : text);
}

}  // namespace rochound::base
