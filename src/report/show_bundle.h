// SPDX-License-Identifier: MIT
//
// A captured launch for people and for programs: what was launched, with which arguments, which
// allocation each pointer points into, which memory was taken and left, and what the kernel needs.
// Used by `rochound show`. Returns text, prints nothing; one thread. A bundle may come from
// anybody.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "capture/bundle.h"

namespace rochound::report {

struct ShowOptions {
  std::string kernel;        // code objects: only kernels that are called so
  std::string target;        // code objects: only those that run on it
  uint64_t workgroup = 0;    // code objects: work-items, for the occupancy
  uint64_t dynamic_lds = 0;  // the same
  bool all = false;          // every region and hidden argument
  bool disassembly = false;
  bool source = false;  // with disassembly
};

base::Result<std::string> BundleText(const capture::Bundle& bundle, const ShowOptions& options);
base::Result<nlohmann::ordered_json> BundleJson(const capture::Bundle& bundle,
                                                const ShowOptions& options);

// An argument's bytes as a value: by its type, or, where that is not known, by its size.
std::string ValueText(std::string_view type, std::string_view bytes);

}  // namespace rochound::report
