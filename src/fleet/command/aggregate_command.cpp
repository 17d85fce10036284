// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <set>
#include <thread>

#include "base/log.h"
#include "fleet/bus/names.h"
#include "fleet/command/commands.h"
#include "fleet/lake/aggregator.h"
#include "fleet/lake/code_fetcher.h"
#include "fleet/metrics/lake_totals.h"
#include "fleet/metrics/otlp.h"

namespace rochound::fleet {
namespace {

using std::chrono::milliseconds;

struct Settings {
  BusOptions bus;
  std::string lake;
  std::string otlp;
  double otlp_seconds = 10;
  Aggregator::Options aggregator;
  double flush_seconds = 60;
  bool once = false;
};

// Series of ranks, from what was stored and from beats, to the server of metrics. A server that is
// away holds up nothing but the next attempt.
class Metrics {
 public:
  Metrics(Bus* bus, Lake* lake, const Settings& settings)
      : bus_(bus),
        tenant_(settings.aggregator.tenant),
        // Beats of all jobs are in one stream: one aggregator looks at them.
        beats_(settings.aggregator.shard == 0),
        pause_(static_cast<int64_t>(settings.otlp_seconds * 1000)),
        ranks_([this, lake](const std::set<RankKey>& ranks) {
          return LoadRankTotals(*lake, SubjectToken(tenant_), ranks);
        }),
        sender_(settings.otlp, settings.aggregator.tenant) {}

  void AddRows(const std::vector<nlohmann::json>& rows) { ranks_.AddRows(rows); }

  void Step(bool last) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_ && !last) return;
    next_ = now + pause_;
    if (beats_) ReadBeats();
    auto collected = ranks_.Collect();
    auto done = collected.ok() ? sender_.Send(collected.value()) : collected.error();
    if (done.ok())
      said_.clear();
    else if (done.error().message != said_)
      base::LogWarning(said_ = done.error().message);
  }

 private:
  void ReadBeats() {
    const StreamOptions stream = BeatStream(tenant_);
    for (int i = 0; i < 100000; ++i) {
      const auto message = bus_->Next(stream.name, stream.subject, next_beat_);
      if (!message.ok() || !message.value()) return;
      next_beat_ = message.value()->sequence + 1;
      ranks_.AddBeat(nlohmann::json::parse(message.value()->text, nullptr, false));
    }
  }

  Bus* const bus_;
  const std::string tenant_;
  const bool beats_;
  const milliseconds pause_;
  RankMetrics ranks_;
  OtlpSender sender_;
  uint64_t next_beat_ = 1;
  std::chrono::steady_clock::time_point next_{};
  std::string said_;
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
  std::unique_ptr<CodeFetcher> fetcher;
  std::unique_ptr<Metrics> metrics;
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
      fetcher = std::make_unique<CodeFetcher>(bus.get(), lake.get(), settings.aggregator.tenant);
      aggregator->set_code_seen(
          [&](const std::string& host, const std::string& hash) { fetcher->See(host, hash); });
      if (!settings.otlp.empty()) {
        metrics = std::make_unique<Metrics>(bus.get(), lake.get(), settings);
        aggregator->set_stored(
            [&](const std::vector<nlohmann::json>& rows) { metrics->AddRows(rows); });
      }
    }
    if (!started) {
      auto begun = fetcher->Start();
      if (begun.ok()) begun = aggregator->Start();
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
        if (metrics != nullptr) metrics->Step(last);
        // Code objects have time: sketches go first.
        const auto fetched = fetcher->Step();
        if (!fetched.ok()) failed(fetched.error().message);
        if (fetched.ok() && fetched.value()) continue;
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
  base::LogInfo(fmt::format("{} messages stored, {} came twice, {} refused; {} code objects",
                            aggregator->stored(), aggregator->duplicates(), aggregator->refused(),
                            fetcher->fetched()));
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
      ->add_option("--replicas", settings->aggregator.replicas,
                   "Servers that keep each message, if this aggregator makes the stream")
      ->check(CLI::Range(1, 5))
      ->type_name("N");
  command
      ->add_option("--flush", settings->flush_seconds,
                   "How long messages wait for others to be in one file with")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS");
  command
      ->add_option("--otlp", settings->otlp,
                   "Send about 20 series per rank there, by OTLP over HTTP; of VictoriaMetrics: "
                   "http://HOST:8428/opentelemetry/v1/metrics")
      ->type_name("URL");
  command->add_option("--otlp-every", settings->otlp_seconds, "Time between those; 10 unless told")
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("SECONDS");
  command->add_flag("--once", settings->once, "Store what there is, and end");
  return {command, [settings] { return Run(*settings); }};
}

}  // namespace rochound::fleet
