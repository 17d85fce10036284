// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "codeobj/code_object.h"

namespace rochound::codeobj {
namespace {

using base::Error;
using base::Result;

std::string NameOf(const Argument& argument, size_t index) {
  return argument.name.empty() ? fmt::format("argument {}", index)
                               : fmt::format("argument {} ('{}')", index, argument.name);
}

std::string ShapeOf(const Argument& argument) {
  return fmt::format("{} of {} bytes at offset {}", argument.value_kind, argument.size,
                     argument.offset);
}

}  // namespace

std::string_view Argument::BytesOf(std::string_view kernarg) const {
  if (offset > kernarg.size() || size > kernarg.size() - offset) return {};
  return kernarg.substr(offset, size);
}

size_t Kernel::ExplicitArguments() const {
  return static_cast<size_t>(
      std::find_if(arguments.begin(), arguments.end(),
                   [](const Argument& argument) { return argument.hidden(); }) -
      arguments.begin());
}

Result<void> SameArguments(const Kernel& captured, const Kernel& other) {
  if (!captured.has_metadata || !other.has_metadata) {
    return Error{fmt::format("the {} kernel '{}' has no metadata, so its arguments are unknown",
                             captured.has_metadata ? "other" : "captured",
                             captured.has_metadata ? other.name : captured.name)};
  }
  const size_t expected = captured.ExplicitArguments();
  const size_t got = other.ExplicitArguments();
  for (size_t i = 0; i < std::min(expected, got); ++i) {
    const Argument& was = captured.arguments[i];
    const Argument& is = other.arguments[i];
    if (was.offset == is.offset && was.size == is.size && was.value_kind == is.value_kind) continue;
    return Error{fmt::format("{} of '{}' differs: {} in the captured kernel, {} in the other",
                             NameOf(was, i), captured.name, ShapeOf(was), ShapeOf(is))};
  }
  if (got == expected) return {};
  const bool extra = got > expected;
  const size_t count = extra ? got - expected : expected - got;
  const Argument& first = extra ? other.arguments[expected] : captured.arguments[got];
  return Error{fmt::format(
      "{} {} trailing argument{}: {}, {}; the captured kernel has {} arguments, the other {}",
      extra ? "the other kernel has" : "the other kernel lacks",
      count == 1 ? (extra ? "an extra" : "a") : std::to_string(count) + (extra ? " extra" : ""),
      count == 1 ? "" : "s", NameOf(first, std::min(expected, got)), ShapeOf(first), expected,
      got)};
}

}  // namespace rochound::codeobj
