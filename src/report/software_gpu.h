// SPDX-License-Identifier: MIT
//
// How it is said that a trace was recorded on a software GPU (analysis::OnSoftwareGpu), wherever
// its times are.
#pragma once

namespace rochound::report {

inline constexpr const char* kSoftwareGpuTimes =
    "software GPU: its times are those of an interpreter, not of silicon";

}  // namespace rochound::report
