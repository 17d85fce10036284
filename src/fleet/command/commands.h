// SPDX-License-Identifier: MIT
//
// The commands of rochound-fleet, one function each: adds itself to the command line and says what
// to run when it was chosen. One thread; an Error ends the program with its message.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/bus/bus.h"

namespace rochound::fleet {

struct FleetCommand {
  CLI::App* app = nullptr;
  std::function<base::Result<int>()> run;  // the exit code
};

FleetCommand AggregateCommand(CLI::App& app);
FleetCommand UpCommand(CLI::App& app);
FleetCommand WindowCommand(CLI::App& app);
FleetCommand StartCommand(CLI::App& app);
FleetCommand StopCommand(CLI::App& app);
FleetCommand CaptureCommand(CLI::App& app);
FleetCommand HangCommand(CLI::App& app);
FleetCommand StragglersCommand(CLI::App& app);
FleetCommand WatchCommand(CLI::App& app);
FleetCommand EventsCommand(CLI::App& app);
FleetCommand KernelsCommand(CLI::App& app);
FleetCommand AskCommand(CLI::App& app);
FleetCommand RegressionsCommand(CLI::App& app);
FleetCommand JobsCommand(CLI::App& app);
FleetCommand DiffCommand(CLI::App& app);
FleetCommand CompactCommand(CLI::App& app);

// Options with which all of them reach the bus.
void AddBusOptions(CLI::App& app, BusOptions* options);
// Set by SIGTERM and SIGINT once CatchSignals was called.
extern std::atomic<bool> asked_to_end;
void CatchSignals();

}  // namespace rochound::fleet
