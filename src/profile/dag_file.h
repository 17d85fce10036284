// SPDX-License-Identifier: MIT
//
// dag.json, and the part of the page that ranks kernels by what they are worth end to end.
// docs/formats/profile.md and dag.schema.json describe the file. Offline; pure functions.
#pragma once

#include <string>

#include "analysis/dag.h"

namespace rochound::profile {

// Share of the time from the first event to the last that its launches take on the critical path.
double CriticalPathScore(const analysis::Dag& dag, const analysis::DagKernel& kernel);

std::string DagJson(const analysis::Dag& dag);
std::string DagPage(const analysis::Dag& dag);

}  // namespace rochound::profile
