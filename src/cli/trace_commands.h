// SPDX-License-Identifier: MIT
//
// The commands that ask a trace: explain, query, merge and the like. They need DuckDB; in a
// rochound that was built where there is none, commands of the same names say so. Called once by
// main.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace rochound::cli {

void AddTraceCommands(CLI::App& app, Commands& commands);

// What rochound explain can be asked; without DuckDB, nothing.
std::vector<std::string> QuestionNames();
bool IsQuestion(const std::string& word);

}  // namespace rochound::cli
