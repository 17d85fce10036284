// SPDX-License-Identifier: MIT
#include "base/markup.h"

#include "base/printable.h"
#include "base/utf8.h"

namespace rochound::base {

std::string MarkupText(std::string_view text) {
  std::string out, scratch;
  for (const char c : Printable(ToUtf8(text, &scratch))) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace rochound::base
