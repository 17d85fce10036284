// SPDX-License-Identifier: MIT
//
// Formulas of metrics: numbers, counters' names, + - * /, parentheses, max(a, b), min(a, b),
// ceil(a), and first(a, b): the first of them whose counters are all there. Pure functions.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "profile/counter_source.h"

namespace rochound::profile {

struct FormulaValue {
  std::optional<double> value;  // none: a counter is missing, or something is divided by 0
  std::set<std::string> missing;
};

// An error if the formula itself is wrong. Of first(a, b) without a value, what a needs is missing. NAME_sum is also found as NAME: sources have added up
// the instances of a counter.
base::Result<FormulaValue> Evaluate(std::string_view formula, const Values& values);

}  // namespace rochound::profile
