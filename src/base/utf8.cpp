// SPDX-License-Identifier: MIT
#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace rochound::base {
namespace {

// How many bytes at the front are ASCII, which is nearly all there ever is.
size_t AsciiLength(std::string_view text) {
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= text.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

}  // namespace

size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (length > 2) {  // overlong forms, surrogates, and what is beyond Unicode
    const unsigned char second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
      return 0;
  }
  return length;
}

bool IsUtf8(std::string_view text) {
  while (true) {
    text.remove_prefix(AsciiLength(text));
    if (text.empty()) return true;
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
}

std::string_view ToUtf8(std::string_view text, std::string* scratch) {
  if (IsUtf8(text)) return text;
  scratch->clear();
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      scratch->append("\xef\xbf\xbd");
    } else {
      scratch->append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return *scratch;
}

}  // namespace rochound::base
