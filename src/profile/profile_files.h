// SPDX-License-Identifier: MIT
//
// profile.json and roofline.json, and the page for a terminal. docs/formats/profile.md and the
// schemas beside it describe the files. Offline.
#pragma once

#include <string>
#include <vector>

#include "profile/roofline.h"

namespace rochound::profile {

// architecture: for metrics of hardware counters; nullptr: none.
base::Result<std::string> ProfileJson(const CounterSet& set, const Architecture* architecture);
std::string RooflineJson(const CounterSet& set, const Device& device, const Peaks& peaks,
                         const std::vector<KernelRoofline>& kernels);

std::string RooflinePage(const CounterSet& set, const Device& device, const Peaks& peaks,
                         const std::vector<KernelRoofline>& kernels);
base::Result<std::string> MetricsPage(const CounterSet& set, const Architecture& architecture);

}  // namespace rochound::profile
