// SPDX-License-Identifier: MIT
#include "cli/mcp_command.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/log.h"
#include "cli/trace_commands.h"
#include "cli/usage_formatter.h"
#include "launch/run_environment.h"
#include "mcp/server.h"

namespace rochound::cli {
namespace {

constexpr const char* kMcpExamples = R"(
Examples:
  rochound mcp                                     explain, query, show and doctor, in this folder
  rochound mcp --folder ~/traces --folder ~/src
  rochound mcp --folder ~/project --allow-run      also run, capture, replay, probe, profile, judge

An assistant starts it; what to write into its configuration:
  {"mcpServers": {"rochound": {"command": "rochound", "args": ["mcp", "--folder", "/home/me/project"]}}}

Each tool is the command of the same name: its parameters are the command's options, its
answer is what the command prints with --json, in pages. Long work tells its progress and
can be cancelled, which ends the command and what it has started.

Without --allow-run nothing is started but rochound itself, and nothing is written. Paths
that an assistant names must be inside of a --folder; symbolic links do not lead out. On
kernels with Landlock, explain, query and show cannot read other files of yours either.
With --allow-run an assistant can start any program with your rights: that is as much as
a shell. Folders then bound what rochound reads and writes, not what programs do.

The protocol is spoken in its versions 2026-07-28, 2025-11-25, 2025-06-18 and 2024-11-05,
one JSON message per line. docs/guides/mcp.md says more.

Exit codes: 0 the input ended, 2 wrong command line, 125 it could not start.
)";

}  // namespace

const char* McpCommand::examples() const { return kMcpExamples; }

McpCommand::McpCommand(CLI::App& app, const char* version)
    : Command(app.add_subcommand("mcp", "Let an assistant use rochound (Model Context Protocol)")),
      version_(version) {
  UsageFormatter::Set(*subcommand_, "rochound mcp [OPTIONS]");
  subcommand_
      ->add_option("--folder", folders_,
                   "What may be read and written; several may be named (default: this one)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  subcommand_->add_flag("--allow-run", allow_run_,
                        "Also the tools that start programs and write files");
  subcommand_->add_option("--timeout", timeout_seconds_, "How long a call may take (default: 600)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 1'000'000));
}

int McpCommand::Run(const std::vector<std::string>& program) {
  if (!program.empty()) return Usage("mcp starts no program: leave out what follows --");
  if (folders_.empty()) folders_.emplace_back(".");
  auto folders = mcp::Folders::Open(folders_);
  const auto rochound = base::ExecutablePath();
  if (!folders.ok() || !rochound.ok()) {
    base::LogError((folders.ok() ? rochound.error() : folders.error()).message);
    return base::kExitSetup;
  }
  signal(SIGPIPE, SIG_IGN);  // a client may close its side at any moment
  // Asked to end, it ends running calls first and leaves no folder behind.
  sigset_t ending;
  sigemptyset(&ending);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ending, number);
  sigprocmask(SIG_BLOCK, &ending, nullptr);
  mcp::ServerSettings settings{version_,
                               {rochound.value(), launch::Lines(launch::CurrentEnvironment()),
                                std::move(folders).value(), std::chrono::seconds(timeout_seconds_)},
                               QuestionNames(),
                               allow_run_};
  settings.stop = signalfd(-1, &ending, SFD_CLOEXEC);
  for (const std::string& gap : mcp::ConfinementGaps(settings.calls))
    base::LogInfo("tools are not confined as to " + gap);
  if (isatty(STDIN_FILENO) == 1)
    base::LogInfo("this speaks JSON with an assistant that starts it; see rochound mcp --help");
  mcp::Server(std::move(settings), STDIN_FILENO, STDOUT_FILENO).Run();
  return base::kExitSuccess;
}

}  // namespace rochound::cli
