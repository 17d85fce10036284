// SPDX-License-Identifier: MIT
//
// Findings for a terminal: each a sentence with its confidence, its evidence and the command that
// shows it, and one thing to do. Called by the command line on one thread; returns text.
#pragma once

#include <string>

#include "analysis/findings/finding.h"
#include "report/text.h"

namespace rochound::report {

std::string FindingsText(const analysis::Findings& findings, const TextStyle& style);

}  // namespace rochound::report
