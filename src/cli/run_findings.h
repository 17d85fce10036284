// SPDX-License-Identifier: MIT
//
// What `rochound run` says first about the trace that it made: findings, or the command that shows
// them where they would take long. Called once, on main's thread. A rochound without DuckDB says
// nothing.
#pragma once

#include <filesystem>
#include <string>

namespace rochound::cli {

struct FindingsOfRun {
  std::string text;
  bool are_findings = false;  // false: the command, or nothing
};
FindingsOfRun RunFindings(const std::filesystem::path& rpd);

}  // namespace rochound::cli
