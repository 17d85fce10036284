// SPDX-License-Identifier: MIT
//
// Texts of programs are bytes; DuckDB, Parquet and JSON want UTF-8 and misbehave otherwise.
// Whatever writes or reads a trace or a bundle passes them through here once. Pure functions, any
// thread; the first two do not allocate.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rochound::base {

// Length of the character at the front of text, which is not empty; 0: it is none.
size_t Utf8Length(std::string_view text);

bool IsUtf8(std::string_view text);

// The text itself, or a copy in *scratch where each byte that belongs to no character is U+FFFD.
std::string_view ToUtf8(std::string_view text, std::string* scratch);

}  // namespace rochound::base
