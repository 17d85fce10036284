// SPDX-License-Identifier: MIT
#include "cli/run_findings.h"

namespace rochound::cli {

FindingsOfRun RunFindings(const std::filesystem::path& /*rpd*/) { return {}; }

}  // namespace rochound::cli
