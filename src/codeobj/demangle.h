// SPDX-License-Identifier: MIT
//
// Names of kernels and device functions as their author wrote them. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rochound::codeobj {

// "_Z3addPfi" or "_Z3addPfi.kd" -> "add(float*, int)"; any other name as it is, without ".kd".
std::string Demangle(std::string_view name);

// The types in the parameter list of a mangled name; empty if it has none or is not mangled. HIP's
// compiler leaves types out of the metadata when it optimizes, but C++ names carry them.
std::vector<std::string> DeclaredTypes(std::string_view name);

}  // namespace rochound::codeobj
