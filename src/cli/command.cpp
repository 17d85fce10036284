// SPDX-License-Identifier: MIT
#include "cli/command.h"

#include <algorithm>

#include "base/log.h"
#include "cli/exit_codes.h"
#include "cli/usage_formatter.h"

namespace rochound::cli {

std::string Command::Help(const CLI::App& app) {
  const CLI::Option* const named = subcommand_->get_option_no_throw("action");
  for (const Action& action : actions()) {
    if (named == nullptr || named->empty() || named->results()[0] != action.name) continue;
    for (CLI::Option* option : subcommand_->get_options()) {
      const std::string name = option->get_name();
      if (name != "--help" &&
          std::find(action.options.begin(), action.options.end(), name) == action.options.end())
        option->group("");  // not shown
    }
    UsageFormatter::Set(*subcommand_, action.usage);
    subcommand_->description(action.about);
    return app.help() + "\nrochound " + this->name() + " --help shows examples and exit codes.\n";
  }
  return app.help() + examples();
}

int Command::Usage(const std::string& problem) const {
  base::LogError(problem);
  base::LogInfo("See rochound " + name() + " --help.");
  return kExitUsage;
}

}  // namespace rochound::cli
