// SPDX-License-Identifier: MIT
//
// Options of the commands that ask the lake. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"
#include "fleet/history/history.h"
#include "fleet/lake/lake.h"

namespace rochound::fleet {

struct LakeOptions {
  std::string place;
  std::string tenant = "default";
};
void AddLakeOptions(CLI::App& command, LakeOptions* options);
void AddHistoryOptions(CLI::App& command, HistoryFilter* filter);

// With its view of sketches; an error if it has none of this tenant.
base::Result<Lake> OpenLake(const LakeOptions& options);

}  // namespace rochound::fleet
