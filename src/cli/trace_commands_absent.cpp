// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/exit_codes.h"
#include "base/log.h"
#include "cli/trace_commands.h"

namespace rochound::cli {
namespace {

constexpr const char* kAbsent[] = {"explain", "query",   "shell", "merge",
                                   "open",    "convert", "top",   "report"};

class AbsentCommand final : public Command {
 public:
  AbsentCommand(CLI::App& app, const char* name)
      : Command(app.add_subcommand(name, "Not in this build: it was made without DuckDB")) {
    subcommand_->allow_extras();
  }
  const char* examples() const override { return "\n"; }
  int Run(const std::vector<std::string>& /*program*/) override {
    base::LogError(fmt::format(
        "this rochound was built without DuckDB, which {} needs; build it where libduckdb-dev is "
        "installed (Debian 14 and later), it reads the same traces",
        name()));
    return base::kExitSetup;
  }
};

}  // namespace

void AddTraceCommands(CLI::App& app, Commands& commands) {
  for (const char* name : kAbsent) commands.push_back(std::make_unique<AbsentCommand>(app, name));
}

std::vector<std::string> QuestionNames() { return {}; }

bool IsQuestion(const std::string& /*word*/) { return false; }

}  // namespace rochound::cli
