// SPDX-License-Identifier: MIT
//
// Fields of comma-separated values. Pure functions, any thread.
#pragma once

#include <string>

namespace rochound::base {

// Quoted where it has to be.
std::string CsvField(const std::string& text);

// The same for texts of a program's: a spreadsheet does not take them for a formula.
std::string CsvText(const std::string& text);

}  // namespace rochound::base
