// SPDX-License-Identifier: MIT
//
// Whether a trace was recorded on a software GPU, and how that is said wherever its times are.
#pragma once

#include <string>

#include "analysis/questions.h"

namespace rochound::report {

inline constexpr const char* kSoftwareGpuTimes =
    "software GPU: its times are those of an interpreter, not of silicon";

// False also for traces of other tools, which do not say what was loaded.
bool OnSoftwareGpu(store::TraceDatabase& trace);

}  // namespace rochound::report
