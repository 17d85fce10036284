// SPDX-License-Identifier: MIT
//
// analysis.json, and the part of the page that says what limits each kernel.
// docs/formats/profile.md and analysis.schema.json describe the file. Offline; pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profile/bottleneck.h"
#include "profile/roofline.h"

namespace rochound::profile {

// Of a kernel's launches in the trace, or of those that were counted, all shapes together.
struct KernelWorth {
  std::optional<double> critical_path_score;  // of a trace
  double time_ms = 0;                         // measured
};
using Worths = std::map<std::string, KernelWorth>;  // by readable name

// rooflines: of the same counters.
std::string AnalysisJson(const CounterSet& set, const Device& device,
                         const std::vector<KernelAnalysis>& kernels,
                         const std::vector<KernelRoofline>& rooflines, const Worths& worths);
// by: what the verdicts are made of, for the heading.
std::string AnalysisPage(const std::vector<KernelAnalysis>& kernels,
                         const std::vector<KernelRoofline>& rooflines, const char* by);

// Why the roofline alone would say something else than this limit; "" if it does not.
std::string Disagreement(const std::string& limit, const KernelRoofline& roofline);

}  // namespace rochound::profile
