// SPDX-License-Identifier: MIT
#include "codeobj/omniprobe.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/fill.h"
#include "codeobj/swap.h"

namespace rochound::codeobj {
namespace {

using base::Error;
using base::Result;
using Value = OmniprobeArguments::Value;

constexpr std::string_view kBefore = "__amd_crk_", kAfter = "Pv";

// A hidden argument that the dispatch packet says, too.
std::optional<Value> FromLaunch(const Argument& argument) {
  Value value;
  value.to = argument.offset;
  value.bytes = argument.size;
  std::string_view kind = argument.value_kind;
  if (kind == "hidden_grid_dims") {
    value.kind = Value::Kind::kGridDims;
    return value;
  }
  if (kind.size() < 2 || kind[kind.size() - 2] != '_' || kind.back() < 'x' || kind.back() > 'z')
    return std::nullopt;
  value.axis = kind.back() - 'x';
  kind.remove_suffix(2);
  if (kind == "hidden_block_count")
    value.kind = Value::Kind::kBlockCount;
  else if (kind == "hidden_group_size")
    value.kind = Value::Kind::kGroupSize;
  else if (kind == "hidden_remainder")
    value.kind = Value::Kind::kRemainder;
  else if (kind == "hidden_global_offset")
    value.kind = Value::Kind::kZero;
  else
    return std::nullopt;
  return value;
}

uint64_t NumberOf(const Value& value, const SwapLaunch& launch) {
  const auto axis = static_cast<size_t>(value.axis);
  const uint64_t grid = std::max<uint64_t>(launch.grid[axis], 1);
  const uint64_t group = std::max<uint64_t>(launch.workgroup[axis], 1);
  switch (value.kind) {
    case Value::Kind::kBlockCount:
      return grid / group;
    case Value::Kind::kGroupSize:
      return group;
    case Value::Kind::kRemainder:
      return grid % group;
    case Value::Kind::kGridDims:
      return launch.grid[2] > 1 ? 3 : launch.grid[1] > 1 ? 2 : 1;
    case Value::Kind::kZero:
      break;
  }
  return 0;
}

}  // namespace

std::string OmniprobeName(std::string_view symbol) {
  return std::string(kBefore).append(symbol).append(kAfter);
}

std::string_view OriginalOfOmniprobe(std::string_view symbol) {
  if (!symbol.starts_with(kBefore) || !symbol.ends_with(kAfter) ||
      symbol.size() <= kBefore.size() + kAfter.size())
    return {};
  return symbol.substr(kBefore.size(), symbol.size() - kBefore.size() - kAfter.size());
}

Result<OmniprobeArguments> PlanOmniprobeArguments(const Kernel& original, const Kernel& copy) {
  if (!original.has_metadata || !copy.has_metadata)
    return Error{"its arguments, or those of the original, are not known"};
  const size_t given = original.ExplicitArguments();
  if (copy.ExplicitArguments() != given + 1)
    return Error{base::Fill(
        "a kernel that omniprobe instrumented has one argument more than the original, and this "
        "one has {}, the original {}",
        copy.ExplicitArguments(), given)};
  OmniprobeArguments plan;
  plan.bytes = copy.kernarg_segment_size;
  for (size_t i = 0; i < given; ++i) {
    const Argument& from = original.arguments[i];
    const Argument& to = copy.arguments[i];
    if (from.size != to.size || from.value_kind != to.value_kind)
      return Error{base::Fill("argument {} is {} of {} bytes, and the original's is {} of {}", i,
                              to.value_kind, to.size, from.value_kind, from.size)};
    plan.pieces.push_back({from.offset, to.offset, from.size});
  }
  const Argument& pointer = copy.arguments[given];
  if (!pointer.pointer() || pointer.size != sizeof(uint64_t))
    return Error{"its last argument is no pointer"};
  plan.descriptor = pointer.offset;
  for (size_t i = given + 1; i < copy.arguments.size(); ++i) {
    const Argument& hidden = copy.arguments[i];
    if (hidden.value_kind == "hidden_none") continue;
    const auto same =
        std::find_if(original.arguments.begin() + static_cast<ptrdiff_t>(given),
                     original.arguments.end(), [&](const Argument& one) {
                       return one.value_kind == hidden.value_kind && one.size == hidden.size;
                     });
    if (same != original.arguments.end()) {
      plan.pieces.push_back({same->offset, hidden.offset, hidden.size});
    } else if (const auto value = FromLaunch(hidden)) {
      plan.values.push_back(*value);
    } else {
      return Error{base::Fill(
          "it reads the hidden argument {}, which the runtime does not write for the original",
          hidden.value_kind)};
    }
  }
  const auto inside = [](uint64_t at, uint64_t bytes, uint64_t size) {
    return at <= size && bytes <= size - at;
  };
  bool fits = inside(plan.descriptor, sizeof(uint64_t), plan.bytes);
  for (const auto& piece : plan.pieces)
    fits = fits && inside(piece.from, piece.bytes, original.kernarg_segment_size) &&
           inside(piece.to, piece.bytes, plan.bytes);
  for (const Value& value : plan.values)
    fits = fits && value.bytes <= sizeof(uint64_t) && inside(value.to, value.bytes, plan.bytes);
  if (!fits) return Error{"its arguments do not lie where its metadata says"};
  return plan;
}

void OmniprobeArguments::Make(std::span<const std::byte> original, const SwapLaunch& launch,
                              uint64_t descriptor_address, std::span<std::byte> made) const {
  std::memset(made.data(), 0, made.size());
  for (const Piece& piece : pieces)
    if (piece.from + piece.bytes <= original.size())
      std::memcpy(made.data() + piece.to, original.data() + piece.from, piece.bytes);
  for (const Value& value : values) {
    const uint64_t number = NumberOf(value, launch);
    std::memcpy(made.data() + value.to, &number, value.bytes);
  }
  std::memcpy(made.data() + descriptor, &descriptor_address, sizeof descriptor_address);
}

}  // namespace rochound::codeobj
