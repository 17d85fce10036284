// SPDX-License-Identifier: MIT
//
// rochound-fleet hang and window: asks the daemons of a job.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "fleet/bus/names.h"
#include "fleet/command/commands.h"
#include "fleet/hang/hang.h"

namespace rochound::fleet {
namespace {

using base::Result;
using nlohmann::json;

struct Settings {
  BusOptions bus;
  std::string tenant = "default";
  std::string job;
  uint32_t hosts = 0;
  double patience = 5;
  double from_seconds = -30;
  double to_seconds = 0;
  std::string output;
  bool json = false;
};

Result<std::vector<json>> Gather(Settings& settings, const json& request) {
  ROCHOUND_CHECK(ReadServers(&settings.bus));
  if (settings.bus.servers.empty()) return base::Error{"--bus is missing: where are the daemons?"};
  settings.bus.name = "rochound-fleet";
  ROCHOUND_TRY(const auto bus, Bus::Connect(settings.bus));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!bus->connected() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (!bus->connected()) return base::Error{"no server of the bus answers; is --bus right?"};
  ROCHOUND_TRY(
      const auto texts,
      bus->Gather(ControlSubject(settings.tenant), request.dump(),
                  std::chrono::milliseconds(static_cast<int64_t>(settings.patience * 1000)),
                  settings.hosts == 0 ? SIZE_MAX : settings.hosts));
  std::vector<json> answers;
  for (const std::string& text : texts) {
    json answer = json::parse(text, nullptr, false);
    if (answer.is_object()) answers.push_back(std::move(answer));
  }
  if (answers.empty())
    return base::Error{fmt::format("no daemon of tenant '{}' answered within {} s", settings.tenant,
                                   settings.patience)};
  return answers;
}

Result<int> Hang(Settings& settings) {
  ROCHOUND_TRY(const auto answers, Gather(settings, {{"what", "cards"}, {"job", settings.job}}));
  const HangReport report = ExplainHang(CardsOf(answers));
  if (settings.json) {
    fmt::print("{}\n", report.AsJson().dump(1));
  } else {
    fmt::print("{}", report.AsText());
  }
  return report.cards == 0 ? 1 : 0;
}

Result<int> Window(Settings& settings) {
  namespace fs = std::filesystem;
  const uint64_t now = base::ClockNs(CLOCK_REALTIME);
  const auto at = [&](double seconds) {
    return static_cast<uint64_t>(static_cast<int64_t>(now) + static_cast<int64_t>(seconds * 1e9));
  };
  const fs::path folder = fs::absolute(settings.output);
  std::error_code error;
  fs::create_directories(folder, error);
  ROCHOUND_TRY(const auto answers, Gather(settings, {{"what", "window"},
                                                     {"job", settings.job},
                                                     {"from_ns", at(settings.from_seconds)},
                                                     {"to_ns", at(settings.to_seconds)},
                                                     {"folder", folder.string()}}));
  size_t failed = 0, windows = 0;
  for (const json& answer : answers)
    for (const json& window : answer.value("windows", json::array())) {
      ++windows;
      const auto who = fmt::format("rank {} ({}, process {})", window.value("rank", int64_t{-1}),
                                   answer.value("host", ""), window.value("pid", 0));
      if (window.contains("error")) {
        ++failed;
        fmt::print("{}: {}\n", who, window.value("error", ""));
        continue;
      }
      fmt::print("{}: {} chunks, {} bytes in {}\n", who, window.value("chunks", uint64_t{0}),
                 window.value("bytes", uint64_t{0}), window.value("folder", ""));
      if (const uint64_t from = window.value("complete_from_ns", uint64_t{0});
          from > at(settings.from_seconds))
        fmt::print("  not complete: records of its first {:.1f} s were recycled\n",
                   static_cast<double>(from - at(settings.from_seconds)) * 1e-9);
    }
  if (windows == 0) fmt::print("no daemon follows a process of job '{}'\n", settings.job);
  return windows == 0 || failed != 0 ? 1 : 0;
}

void AddOptions(CLI::App& command, Settings* settings) {
  AddBusOptions(command, &settings->bus);
  command.add_option("--tenant", settings->tenant, "Whose")->type_name("NAME");
  command.add_option("--job", settings->job, "Which job; none: processes without one")
      ->required()
      ->type_name("JOB");
  command
      .add_option("--hosts", settings->hosts,
                  "How many daemons to wait for; all that answer in time")
      ->type_name("N");
  command.add_option("--patience", settings->patience, "How long to wait for answers")
      ->check(CLI::Range(0.1, 600.0))
      ->type_name("SECONDS");
}

}  // namespace

FleetCommand HangCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command =
      app.add_subcommand("hang", "Which ranks of a job are waited for, and what they do instead");
  AddOptions(*command, settings.get());
  command->add_flag("--json", settings->json, "As JSON, with a card of each rank");
  return {command, [settings] { return Hang(*settings); }};
}

FleetCommand WindowCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "window", "Fetch what all ranks of a job did, from the past, as flight logs");
  AddOptions(*command, settings.get());
  command->add_option("--from", settings->from_seconds, "Seconds from now: -30")
      ->type_name("SECONDS");
  command->add_option("--to", settings->to_seconds, "Seconds from now")->type_name("SECONDS");
  command->add_option("-o,--output", settings->output, "A folder that daemons and we see")
      ->required()
      ->type_name("FOLDER");
  return {command, [settings] { return Window(*settings); }};
}

}  // namespace rochound::fleet
