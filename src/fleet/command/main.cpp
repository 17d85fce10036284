// SPDX-License-Identifier: MIT
//
// rochound-fleet: everything about many hosts but the daemon.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/options_run.h"
#include "fleet/command/commands.h"

int main(int argc, char** argv) {
  namespace fleet = rochound::fleet;
  CLI::App app("rochound-fleet: what happens on the GPUs of many hosts", "rochound-fleet");
  app.set_version_flag("--version", "rochound-fleet " ROCHOUND_VERSION);
  app.require_subcommand(1);
  const fleet::FleetCommand commands[] = {
      fleet::UpCommand(app),          fleet::KernelsCommand(app), fleet::AskCommand(app),
      fleet::WindowCommand(app),      fleet::HangCommand(app),    fleet::StragglersCommand(app),
      fleet::StartCommand(app),       fleet::StopCommand(app),    fleet::CaptureCommand(app),
      fleet::RegressionsCommand(app), fleet::JobsCommand(app),    fleet::DiffCommand(app),
      fleet::AggregateCommand(app),   fleet::CompactCommand(app), fleet::WatchCommand(app),
      fleet::EventsCommand(app),
  };
  CLI11_PARSE(app, argc, argv);
  rochound::base::RecordOptionsOf(app);
  for (const fleet::FleetCommand& command : commands) {
    if (!command.app->parsed()) continue;
    const auto done = command.run();
    if (done.ok()) return done.value();
    rochound::base::LogError(done.error().message);
    return 1;
  }
  return 2;
}
