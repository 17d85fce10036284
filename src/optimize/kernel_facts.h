// SPDX-License-Identifier: MIT
//
// What a model is told about a kernel, from captured launches and from files that other commands of
// rochound wrote. Only what the code is and does: nothing that memory or arguments held. Reads
// files; any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "optimize/prompt.h"

namespace rochound::optimize {

// Kernel, shapes, instructions and resources of these launches of one kernel.
base::Result<KernelFacts> ReadKernelFacts(const std::vector<std::filesystem::path>& bundles);

// Of roofline.json and analysis.json (rochound profile): the lines about this kernel.
std::string RooflineText(const std::string& json, const std::string& kernel);
std::string LimitText(const std::string& json, const std::string& kernel);

// Of the lines of `rochound probe -a memory`, the places that cost most.
std::string MemoryUseText(const std::string& json_lines);

}  // namespace rochound::optimize
