// SPDX-License-Identifier: MIT
//
// Which hardware counters are worth collecting for verdicts and metrics, and in how many runs: a
// block of the GPU counts only so many at once (Architecture::counters_at_once). Pure functions.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "profile/architecture.h"
#include "profile/bottleneck.h"

namespace rochound::profile {

// All that the rules and the architecture's metrics ask for.
std::set<std::string> WantedCounters(const BottleneckRules& rules,
                                     const Architecture& architecture);

// Passes, each with no more counters of a block than it has; as few as can be. A counter belongs to
// the block that its name begins with; of a block that the file does not know, one at once.
std::vector<std::vector<std::string>> PlanPasses(const std::set<std::string>& counters,
                                                 const Architecture& architecture);

}  // namespace rochound::profile
