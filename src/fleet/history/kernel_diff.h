// SPDX-License-Identifier: MIT
//
// Two builds of a kernel beside each other: resources, occupancy and instructions, as text or JSON.
// Offline code, one thread. Errors say what a code object lacks; without ROCm's code object manager
// there are resources and no instructions, and the text says so.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rochound::fleet {

// What changed in a line of instructions.
struct DiffLine {
  enum class Kind { kSame, kChanged, kRemoved, kAdded } kind = Kind::kSame;
  std::string before, after;  // the one that is missing is empty
};

// A shortest list of changes; neighbouring removals and additions are paired. Beyond `most` changes
// nothing is aligned any more: everything between what both begin and end with is one change.
std::vector<DiffLine> DiffLines(const std::vector<std::string>& before,
                                const std::vector<std::string>& after, size_t most = 2000);

struct KernelDiff {
  nlohmann::ordered_json json;
  std::string text;
};
// kernel: its symbol, or a part of its name as a person writes it; empty: the only one there is.
// context: instructions without a change that are shown around changes.
base::Result<KernelDiff> DiffKernels(std::string_view before, std::string_view after,
                                     const std::string& kernel, size_t context);

}  // namespace rochound::fleet
