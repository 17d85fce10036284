// SPDX-License-Identifier: MIT
//
// Text inside of SVG and HTML. Any thread; allocates.
#pragma once

#include <string>
#include <string_view>

namespace rochound::base {

// Whatever the text is, it is text there, and in attributes between double quotes. Control
// characters and broken UTF-8 are replaced.
std::string MarkupText(std::string_view text);

}  // namespace rochound::base
