// SPDX-License-Identifier: MIT
//
// The kernels of the code objects in a file, for people and for programs. Used by `rochound show`.
// Returns text, prints nothing; one thread. A file may come from anybody.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/show_bundle.h"

namespace rochound::report {

base::Result<std::string> ObjectsText(std::string_view name, std::string_view bytes,
                                      const ShowOptions& options);
base::Result<nlohmann::ordered_json> ObjectsJson(std::string_view name, std::string_view bytes,
                                                 const ShowOptions& options);

}  // namespace rochound::report
