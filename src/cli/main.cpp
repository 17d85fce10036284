// SPDX-License-Identifier: MIT
//
// The rochound command: parses the command line and hands over to one subcommand.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/options_run.h"
#include "cli/capture_command.h"
#include "cli/ctl_command.h"
#include "cli/doctor_command.h"
#include "cli/judge_command.h"
#include "cli/log_command.h"
#include "cli/mcp_command.h"
#include "cli/optimize_command.h"
#include "cli/probe_command.h"
#include "cli/profile_command.h"
#include "cli/reference_command.h"
#include "cli/replay_command.h"
#include "cli/run_command.h"
#include "cli/selftest_command.h"
#include "cli/show_command.h"
#include "cli/softgpu_command.h"
#include "cli/swap_command.h"
#include "cli/trace_commands.h"
#include "cli/usage_formatter.h"

namespace {

using rochound::base::kExitSuccess;
using rochound::base::kExitUsage;

constexpr const char* kMore = "\nrochound COMMAND --help tells more about a command.\n";

void AddCommands(CLI::App& app, rochound::cli::Commands& commands) {
  using namespace rochound::cli;  // NOLINT: every name of ours here is from there
  commands.push_back(std::make_unique<RunCommand>(app));
  commands.push_back(std::make_unique<CtlCommand>(app));
  AddTraceCommands(app, commands);
  commands.push_back(std::make_unique<CaptureCommand>(app));
  commands.push_back(std::make_unique<ShowCommand>(app));
  commands.push_back(std::make_unique<ReplayCommand>(app));
  commands.push_back(std::make_unique<SwapCommand>(app));
  commands.push_back(std::make_unique<ProbeCommand>(app));
  commands.push_back(std::make_unique<ProfileCommand>(app));
  commands.push_back(std::make_unique<JudgeCommand>(app));
  commands.push_back(std::make_unique<OptimizeCommand>(app));
  commands.push_back(std::make_unique<McpCommand>(app, ROCHOUND_VERSION));
  commands.push_back(std::make_unique<DoctorCommand>(app));
  commands.push_back(std::make_unique<SelftestCommand>(app));
  commands.push_back(std::make_unique<LogCommand>(app));
  commands.push_back(std::make_unique<SoftgpuCommand>(app));
  commands.push_back(std::make_unique<ReferenceCommand>(app, commands));
}

int UnknownCommand(const std::string& word) {
  rochound::base::LogError(fmt::format("there is no command '{}'", word));
  rochound::base::LogInfo(
      rochound::cli::IsQuestion(word)
          ? fmt::format("{0} is a question: rochound explain {0} TRACE... answers it.", word)
          : "See rochound --help.");
  return rochound::base::kExitUsage;
}

int Main(std::vector<std::string> arguments) {
  CLI::App app("rochound: see what your program does on AMD GPUs", "rochound");
  app.set_version_flag("--version", "rochound " ROCHOUND_VERSION);
  rochound::cli::UsageFormatter::Set(app, "rochound COMMAND [OPTIONS]");
  app.require_subcommand(0, 1);
  rochound::cli::Commands commands;
  AddCommands(app, commands);

  // What follows the first -- is somebody else's command line and must not be parsed as ours.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> program;
  if (dashes != arguments.end()) program.assign(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  if (!arguments.empty() && !arguments[0].empty() && arguments[0][0] != '-' &&
      std::none_of(commands.begin(), commands.end(),
                   [&](const auto& command) { return command->name() == arguments[0]; }))
    return UnknownCommand(arguments[0]);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants it

  const auto chosen = [&]() -> rochound::cli::Command* {
    for (const auto& command : commands)
      if (command->Chosen()) return command.get();
    return nullptr;
  };
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", chosen() != nullptr ? chosen()->Help(app) : app.help() + kMore);
    return rochound::base::kExitSuccess;
  } catch (const CLI::Success& answer) {  // --version
    return app.exit(answer);
  } catch (const CLI::ParseError& problem) {
    rochound::base::LogError(problem.what());
    rochound::base::LogInfo(chosen() != nullptr
                                ? fmt::format("See rochound {} --help.", chosen()->name())
                                : "See rochound --help.");
    return rochound::base::kExitUsage;
  }
  if (chosen() != nullptr) {
    rochound::base::RecordOptionsOf(app);
    const int code = chosen()->Run(program);
    if (code == kExitUsage) rochound::base::RecordRefusal();
    return code;
  }
  fmt::print(stderr, "{}{}", app.help(), kMore);
  return rochound::base::kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  // Nothing of ours throws, but the libraries may (out of memory); end with a message all the same.
  try {
    return Main(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& problem) {
    rochound::base::LogError(problem.what());
    return rochound::base::kExitSetup;
  }
}
