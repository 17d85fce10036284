// SPDX-License-Identifier: MIT
#include "capture/replay/kernarg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "capture/replay/plan.h"

namespace rochound::capture::replay {
namespace {

using base::Error;
using base::Result;

bool Inside(const codeobj::Argument& argument, std::span<const std::byte> bytes) {
  return argument.offset <= bytes.size() && argument.size <= bytes.size() - argument.offset;
}

uint64_t WordAt(const codeobj::Argument& argument, std::span<const std::byte> bytes) {
  uint64_t word = 0;
  if (Inside(argument, bytes))
    memcpy(&word, bytes.data() + argument.offset, std::min<size_t>(sizeof(word), argument.size));
  return word;
}

// What the runtime puts there, as far as the launch alone tells.
std::optional<uint64_t> FromLaunch(const std::string& kind, const Launch& launch,
                                   uint32_t dynamic_lds) {
  constexpr char kAxes[] = "xyz";
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint32_t grid = std::max(launch.grid[axis], 1U);
    const uint32_t group = std::max(launch.workgroup[axis], 1U);
    const std::string end = fmt::format("_{}", kAxes[axis]);
    if (kind == "hidden_block_count" + end) return grid / group;
    if (kind == "hidden_group_size" + end) return group;
    if (kind == "hidden_remainder" + end) return grid % group;
    if (kind == "hidden_global_offset" + end) return 0;
  }
  if (kind == "hidden_grid_dims") return launch.setup & 3;
  if (kind == "hidden_dynamic_lds_size") return dynamic_lds;
  if (kind == "hidden_none") return 0;
  return std::nullopt;
}

}  // namespace

Result<Kernarg> LayOutFor(const codeobj::Kernel& captured, std::span<const std::byte> bytes,
                          const codeobj::Kernel& other, const Launch& launch) {
  if (!captured.has_metadata || !other.has_metadata)
    return Error{
        "a kernel without metadata does not say what its arguments are; compare needs it of both"};
  ROCHOUND_CHECK(codeobj::SameArguments(captured, other));
  Kernarg kernarg;
  kernarg.bytes.resize(other.kernarg_segment_size);
  const uint64_t static_lds = captured.group_segment_fixed_size;
  const uint32_t dynamic_lds =
      launch.group_bytes > static_lds ? launch.group_bytes - static_cast<uint32_t>(static_lds) : 0;
  for (const codeobj::Argument& argument : other.arguments) {
    if (!Inside(argument, kernarg.bytes))
      return Error{fmt::format("argument at {} +{} is outside of the other kernel's {} bytes",
                               argument.offset, argument.size, kernarg.bytes.size())};
    std::byte* const to = kernarg.bytes.data() + argument.offset;
    if (!argument.hidden()) {
      if (!Inside(argument, bytes))
        return Error{fmt::format("argument at {} +{} is outside of the captured {} bytes",
                                 argument.offset, argument.size, bytes.size())};
      memcpy(to, bytes.data() + argument.offset, argument.size);
      continue;
    }
    const auto same = std::find_if(
        captured.arguments.begin(), captured.arguments.end(), [&](const codeobj::Argument& known) {
          return known.value_kind == argument.value_kind && known.size == argument.size;
        });
    if (same != captured.arguments.end() && Inside(*same, bytes)) {
      memcpy(to, bytes.data() + same->offset, argument.size);
    } else if (const auto value = FromLaunch(argument.value_kind, launch, dynamic_lds)) {
      memcpy(to, &*value, std::min<size_t>(sizeof(*value), argument.size));
    } else {
      kernarg.notes.push_back(
          fmt::format("the other build asks for {}, which the captured one did not: it is zero",
                      argument.value_kind));
    }
  }
  return kernarg;
}

std::vector<TypedSpan> TypeMemory(const codeobj::Kernel& kernel, std::span<const std::byte> bytes,
                                  std::span<const Region> regions, const std::string& demangled) {
  const std::vector<std::string> parameters = ParameterTypes(demangled);
  const bool fits = parameters.size() == kernel.ExplicitArguments();
  std::vector<TypedSpan> spans;
  for (uint32_t i = 0; i < kernel.arguments.size(); ++i) {
    const codeobj::Argument& argument = kernel.arguments[i];
    if (argument.hidden() || !argument.pointer()) continue;
    const uint64_t address = WordAt(argument, bytes);
    const int32_t region = RegionAt(regions, address);
    if (region < 0) continue;
    TypedSpan span;
    span.base = address;
    span.end = regions[region].base + regions[region].size;
    span.argument = i;
    span.region = static_cast<uint32_t>(region);
    span.name = argument.name.empty() ? fmt::format("argument {}", i) : argument.name;
    const std::string& parameter = fits ? parameters[i] : argument.type_name;
    const std::string& type = argument.type_name.empty() ? parameter : argument.type_name;
    span.type = ElementBehind(type);
    span.read_only = PointsToConst(type) || argument.actual_access == "read_only";
    spans.push_back(std::move(span));
  }
  // Of two arguments with the same pointer, the one whose type is known.
  std::stable_sort(spans.begin(), spans.end(), [](const TypedSpan& one, const TypedSpan& other) {
    if (one.base != other.base) return one.base < other.base;
    return one.type != Element::kUnknown && other.type == Element::kUnknown;
  });
  for (size_t i = spans.size(); i-- > 1;)
    if (spans[i - 1].base == spans[i].base) spans[i - 1].read_only &= spans[i].read_only;
  spans.erase(std::unique(spans.begin(), spans.end(),
                          [](const TypedSpan& one, const TypedSpan& other) {
                            return one.base == other.base;
                          }),
              spans.end());
  for (size_t i = 0; i + 1 < spans.size(); ++i)
    spans[i].end = std::min(spans[i].end, spans[i + 1].base);
  return spans;
}

std::vector<std::string> HostServices(const codeobj::Kernel& kernel,
                                      std::span<const std::byte> bytes) {
  std::vector<std::string> services;
  for (const codeobj::Argument& argument : kernel.arguments) {
    const std::string& kind = argument.value_kind;
    if ((kind == "hidden_hostcall_buffer" || kind == "hidden_printf_buffer" ||
         kind == "hidden_default_queue") &&
        WordAt(argument, bytes) != 0)
      services.push_back(kind);
  }
  return services;
}

}  // namespace rochound::capture::replay
