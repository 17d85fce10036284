// SPDX-License-Identifier: MIT
//
// The commands that ask a trace: explain, query, merge and the like. They need DuckDB; a rochound
// built where there is none has one command in their place that says so. Called once by main.
#pragma once

#include "cli/command.h"

namespace rochound::cli {

void AddTraceCommands(CLI::App& app, Commands& commands);

}  // namespace rochound::cli
