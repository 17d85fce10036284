// SPDX-License-Identifier: MIT
//
// What a model answered, taken apart. An answer comes from anybody: the only thing that is taken
// from it is the text of one code block, and nothing in it is ever followed. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rochound::optimize {

inline constexpr size_t kMostSource = size_t{256} << 10;

// The source in the body of an answer to chat/completions. The error is one sentence about what is
// wrong with the answer; it holds nothing of the answer's text.
base::Result<std::string> SourceInAnswer(std::string_view body);

// The same of the text that the model wrote.
base::Result<std::string> SourceInText(std::string_view text);

}  // namespace rochound::optimize
