// SPDX-License-Identifier: MIT
#include "base/printable.h"

namespace rochound::base {
namespace {

void AppendEscaped(std::string* text, unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  *text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

}  // namespace

std::string Printable(std::string_view text, std::string_view keep) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((byte < 0x20 || byte == 0x7f) && keep.find(text[i]) == std::string_view::npos) {
      AppendEscaped(&clean, byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F
      AppendEscaped(&clean, next);
      ++i;
    } else {
      clean += text[i];
    }
  }
  return clean;
}

}  // namespace rochound::base
