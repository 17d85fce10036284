// SPDX-License-Identifier: MIT
//
// "Did it run on the GPU?": judges what a trace says about a run (facts.h) and puts it into words
// and JSON. Called by `rochound doctor --ran`; any thread, no failure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "doctor/finding.h"
#include "doctor/run/run_facts.h"

namespace rochound::doctor {

Report JudgeRun(const RunFacts& run);

// The figures behind the findings, chains of libraries included.
nlohmann::ordered_json RunJson(const RunFacts& run);

}  // namespace rochound::doctor
