// SPDX-License-Identifier: MIT
//
// How far results are from those of a more precise kernel. Where results may be off, both the
// captured kernel and a candidate are; a candidate whose errors are clearly larger has lost
// precision, however generous the tolerance is. Reads what `rochound replay compare --dump` wrote;
// any thread.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::optimize {

// Floating elements that a launch left, by region and argument.
using Outputs = std::map<std::string, std::vector<double>>;

// folder: FOLDER/original or FOLDER/candidate.
base::Result<Outputs> ReadOutputs(const std::filesystem::path& folder, const std::string& as);

// The worst error of any element, as a share of the largest value of its argument.
struct PrecisionErrors {
  double original = 0, candidate = 0;
};
PrecisionErrors CompareWith(const Outputs& reference, const Outputs& original,
                            const Outputs& candidate);

// More than twice the original's error, and more than a rounding.
bool IsLessPrecise(const PrecisionErrors& errors);

}  // namespace rochound::optimize
