// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "cli/exit_codes.h"
#include "cli/trace_commands.h"

namespace rochound::cli {
namespace {

class AbsentCommand final : public Command {
 public:
  explicit AbsentCommand(CLI::App& app)
      : Command(app.add_subcommand("explain", "Not in this build: it was made without DuckDB")) {
    subcommand_->allow_extras();
  }
  const char* examples() const override { return "\n"; }
  int Run(const std::vector<std::string>& /*program*/) override {
    base::LogError(
        "this rochound was built without DuckDB and cannot explain traces; build it where "
        "libduckdb-dev is installed (Debian 14 and later), the traces are the same");
    return kExitSetup;
  }
};

}  // namespace

void AddTraceCommands(CLI::App& app, Commands& commands) {
  commands.push_back(std::make_unique<AbsentCommand>(app));
}

}  // namespace rochound::cli
