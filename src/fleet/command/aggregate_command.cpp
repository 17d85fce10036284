// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <thread>

#include "base/log.h"
#include "fleet/command/commands.h"
#include "fleet/lake/aggregator.h"

namespace rochound::fleet {
namespace {

using std::chrono::milliseconds;

struct Settings {
  BusOptions bus;
  std::string lake;
  Aggregator::Options aggregator;
  double flush_seconds = 60;
  bool once = false;
};

base::Result<int> Run(Settings& settings) {
  CatchSignals();
  ROCHOUND_CHECK(ReadServers(&settings.bus));
  if (settings.bus.servers.empty()) return base::Error{"--bus is missing: where are the messages?"};
  settings.bus.name = "rochound-fleet aggregate";
  settings.aggregator.longest = milliseconds(static_cast<int64_t>(settings.flush_seconds * 1000));
  ROCHOUND_TRY(const auto bus, Bus::Connect(settings.bus));
  std::unique_ptr<Lake> lake;
  std::unique_ptr<Aggregator> aggregator;
  bool started = false;
  milliseconds pause{200};
  std::string said;
  // Bus and storage may be away for a while: nothing is lost, since the stream keeps what is not in
  // the lake.
  const auto failed = [&](const std::string& message) {
    if (message != said) base::LogWarning(message);
    said = message;
    pause = std::min(pause * 2, milliseconds(10000));
  };
  for (;;) {
    const bool last = asked_to_end || settings.once;
    if (lake == nullptr) {
      auto opened = Lake::Open(settings.lake);
      if (!opened.ok()) return opened.error();
      lake = std::make_unique<Lake>(std::move(opened).value());
      aggregator = std::make_unique<Aggregator>(bus.get(), lake.get(), settings.aggregator);
    }
    if (!started) {
      const auto begun = aggregator->Start();
      started = begun.ok();
      if (!started) failed(begun.error().message);
      if (!started && asked_to_end) return 1;
    }
    if (started) {
      const auto done = aggregator->Step(last);
      if (done.ok()) {
        pause = milliseconds(200);
        said.clear();
        if (done.value()) continue;
        if (last) break;
      } else {
        failed(done.error().message);
        if (asked_to_end) return 1;
      }
    }
    const auto until = std::chrono::steady_clock::now() + pause;
    while (!asked_to_end && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(milliseconds(50));
  }
  base::LogInfo(fmt::format("{} messages stored, {} came twice", aggregator->stored(),
                            aggregator->duplicates()));
  return 0;
}

}  // namespace

FleetCommand AggregateCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command =
      app.add_subcommand("aggregate", "Bring sketches from the bus into the lake");
  AddBusOptions(*command, &settings->bus);
  command->add_option("--lake", settings->lake, "A folder, or s3://BUCKET/PREFIX")
      ->required()
      ->type_name("PLACE");
  command->add_option("--tenant", settings->aggregator.tenant, "Whose")->type_name("NAME");
  command->add_option("--shard", settings->aggregator.shard, "Which of the tenant's streams")
      ->type_name("N");
  command
      ->add_option("--flush", settings->flush_seconds,
                   "How long messages wait for others to be in one file with")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS");
  command->add_flag("--once", settings->once, "Store what there is, and end");
  return {command, [settings] { return Run(*settings); }};
}

}  // namespace rochound::fleet
