// SPDX-License-Identifier: MIT
//
// Demangled names of kernels where there is little room. Text in, text out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rochound::codeobj {

// Without `void` in front and without the parameters after.
std::string BriefKernelName(std::string_view name);

// At most `width` characters. What tells kernels of one template apart are its arguments, so these
// stay longest: first go parameters, then qualifiers, repeated arguments ("float x3"), and the end
// of the template's own name.
std::string ShortKernelName(std::string_view name, size_t width);

}  // namespace rochound::codeobj
