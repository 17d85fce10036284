// SPDX-License-Identifier: MIT
//
// analysis.json, and the part of the page that says what limits each kernel.
// docs/formats/profile.md and analysis.schema.json describe the file. Offline; pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profile/bottleneck.h"
#include "profile/roofline.h"

namespace rochound::profile {

// Of a kernel's launches in the trace, all shapes together.
struct KernelWorth {
  double critical_path_score = 0;
  double time_ms = 0;  // measured
};
using Worths = std::map<std::string, KernelWorth>;  // by readable name

// rooflines: of the same counters.
std::string AnalysisJson(const CounterSet& set, const Device& device,
                         const std::vector<KernelAnalysis>& kernels,
                         const std::vector<KernelRoofline>& rooflines, const Worths& worths);
std::string AnalysisPage(const std::vector<KernelAnalysis>& kernels);

}  // namespace rochound::profile
