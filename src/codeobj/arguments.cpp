// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "base/fill.h"
#include "codeobj/code_object.h"

namespace rochound::codeobj {
namespace {

using base::Error;
using base::Result;

std::string NameOf(const Argument& argument, size_t index) {
  return argument.name.empty() ? base::Fill("argument {}", index)
                               : base::Fill("argument {} ('{}')", index, argument.name);
}

std::string ShapeOf(const Argument& argument) {
  return base::Fill("{} of {} bytes at offset {}{}", argument.value_kind, argument.size,
                    argument.offset,
                    argument.address_space.empty()
                        ? ""
                        : base::Fill(" in the address space {}", argument.address_space));
}

bool SameShape(const Argument& one, const Argument& other) {
  // Not every compiler names address spaces.
  const bool spaces_differ = !one.address_space.empty() && !other.address_space.empty() &&
                             one.address_space != other.address_space;
  return one.offset == other.offset && one.size == other.size &&
         one.value_kind == other.value_kind && !spaces_differ;
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

Result<void> SameArguments(const Kernel& first, const Kernel& second, const KernelRoles& roles) {
  if (!first.has_metadata || !second.has_metadata) {
    return Error{base::Fill("{} '{}' has no metadata, so its arguments are unknown",
                            first.has_metadata ? roles.second : roles.first,
                            first.has_metadata ? second.name : first.name)};
  }
  const size_t expected = first.ExplicitArguments();
  const size_t got = second.ExplicitArguments();
  for (size_t i = 0; i < std::min(expected, got); ++i) {
    const Argument& was = first.arguments[i];
    const Argument& is = second.arguments[i];
    if (SameShape(was, is)) continue;
    return Error{base::Fill("{} of '{}' differs: {} in {}, {} in {}", NameOf(was, i), first.name,
                            ShapeOf(was), roles.first, ShapeOf(is), roles.second)};
  }
  if (got == expected) return {};
  const bool extra = got > expected;
  const size_t count = extra ? got - expected : expected - got;
  const Argument& odd = extra ? second.arguments[expected] : first.arguments[got];
  return Error{base::Fill(
      "{} {} {} trailing argument{}: {}, {}; {} has {} arguments, {} {}", roles.second,
      extra ? "has" : "lacks",
      count == 1 ? (extra ? "an extra" : "a") : std::to_string(count) + (extra ? " extra" : ""),
      count == 1 ? "" : "s", NameOf(odd, std::min(expected, got)), ShapeOf(odd), roles.first,
      expected, roles.second, got)};
}

}  // namespace rochound::codeobj
