// SPDX-License-Identifier: MIT
#include "codeobj/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace rochound::codeobj {

std::string Demangle(std::string_view name) {
  // Names of templates get long, but not as long as what somebody writes to exhaust the demangler.
  constexpr size_t kLongest = 64 << 10;
  // The descriptor's symbol, and what demanglers make of its ending.
  for (const std::string_view ending : {".kd", " (.kd)", " [clone .kd]"})
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  std::string text(name);
  if (!name.starts_with("_Z") || name.size() > kLongest) return text;
  int status = 0;
  const std::unique_ptr<char, decltype(&free)> demangled(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &free);
  return status == 0 && demangled ? std::string(demangled.get()) : text;
}

std::vector<std::string> DeclaredTypes(std::string_view name) {
  if (!name.starts_with("_Z")) return {};
  const std::string text = Demangle(name);
  const size_t close = text.rfind(')');
  if (close == std::string::npos) return {};
  // Backwards: what is before the parameters may hold brackets of all kinds.
  std::vector<std::string> types;
  int depth = 0;
  size_t end = close;
  for (size_t i = close; i-- > 0;) {
    const char character = text[i];
    const bool opens = character == '(' || character == '<' || character == '[' || character == '{';
    if (character == ')' || character == '>' || character == ']' || character == '}') ++depth;
    const bool first = opens && depth == 0;
    if (first || (character == ',' && depth == 0)) {
      size_t start = i + 1;
      while (start < end && text[start] == ' ') ++start;
      if (start < end) types.insert(types.begin(), text.substr(start, end - start));
      end = i;
    }
    if (first) return types;
    if (opens) --depth;
  }
  return {};
}

}  // namespace rochound::codeobj
