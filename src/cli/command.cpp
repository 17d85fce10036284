// SPDX-License-Identifier: MIT
#include "cli/command.h"

#include "base/log.h"
#include "cli/exit_codes.h"

namespace rochound::cli {

int Command::Usage(const std::string& problem) const {
  base::LogError(problem);
  base::LogInfo("See rochound " + name() + " --help.");
  return kExitUsage;
}

}  // namespace rochound::cli
