// SPDX-License-Identifier: MIT
//
// rochound-fleet watch and events. `watch` looks at all jobs again and again. When one hangs, or a
// rank holds the others up, it fetches what all ranks did before that, while their rings still have
// it, and publishes an event with a link to that trace. `events` lists them. The format is in
// docs/formats/fleet.md.
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "fleet/bus/names.h"
#include "fleet/command/commands.h"
#include "fleet/command/daemon_message.h"
#include "fleet/command/job_request.h"
#include "fleet/command/job_stragglers.h"
#include "fleet/command/lake_options.h"
#include "fleet/command/print_text.h"
#include "fleet/command/windows.h"
#include "fleet/hang/hang.h"
#include "fleet/storage/s3_object.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using base::Result;
using nlohmann::json;

struct Settings {
  JobSettings daemons;
  std::vector<std::string> jobs;
  std::string output;
  std::string by;
  std::string store;
  std::string lake;
  double every_seconds = 10;
  double before_seconds = 30;
  double stragglers_every_seconds = 60;
  std::string job;  // of `events`
  bool json = false;
};

constexpr std::chrono::milliseconds kPublish{5000};
constexpr double kJudgedSeconds = 600, kPastSeconds = 3600;  // as `stragglers` does

std::string TimeText(uint64_t realtime_ns) {
  const auto seconds = static_cast<time_t>(realtime_ns / 1'000'000'000);
  tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

class Watch {
 public:
  Watch(const Settings& settings, JobRequests requests)
      : settings_(settings), requests_(std::move(requests)) {}

  Result<void> Open() {
    std::error_code error;
    fs::create_directories(settings_.output, error);
    if (error) return base::ErrnoError("cannot make", settings_.output, error.value());
    ROCHOUND_CHECK(requests_.bus().MakeStream(EventStream(settings_.daemons.tenant)));
    return {};
  }

  // Looks at each job once.
  Result<void> Look() {
    std::vector<std::string> jobs = settings_.jobs;
    if (jobs.empty()) {
      ROCHOUND_TRY(jobs, requests_.Jobs());
    }
    std::erase_if(jobs_, [&](const auto& one) {
      return std::find(jobs.begin(), jobs.end(), one.first) == jobs.end();
    });
    const bool stragglers = !settings_.lake.empty() && StragglersAreDue();
    for (const std::string& job : jobs) {
      requests_.SelectJob(job);
      // A job that has just ended has nobody who answers.
      if (const auto done = LookForHang(job, &jobs_[job]); !done.ok())
        base::LogWarning(done.error().message);
      if (!stragglers) continue;
      if (const auto done = LookForStragglers(job, &jobs_[job]); !done.ok())
        base::LogWarning(done.error().message);
    }
    return {};
  }

 private:
  // Of a job. What was found is published once, and again when it is something else.
  struct Seen {
    std::vector<Card> cards;  // at the last look
    std::string hang, stragglers;
  };

  bool StragglersAreDue() {
    const uint64_t now = base::ClockNs(CLOCK_MONOTONIC);
    if (now < next_stragglers_ns_) return false;
    next_stragglers_ns_ = now + static_cast<uint64_t>(settings_.stragglers_every_seconds * 1e9);
    return true;
  }

  Result<void> LookForHang(const std::string& job, Seen* seen) {
    ROCHOUND_TRY(const auto answers, requests_.Ask({{"what", "cards"}, {"job", job}}));
    std::vector<Card> before = std::exchange(seen->cards, CardsOf(answers.answers));
    if (before.empty()) return {};  // one look tells nothing
    const HangReport report = ExplainHang(seen->cards, before);
    const std::string found = report.stuck() ? report.conclusion : "";
    if (found == seen->hang) return {};
    seen->hang = found;
    return found.empty() ? Result<void>{} : Publish(job, "hang", found, report.AsJson());
  }

  Result<void> LookForStragglers(const std::string& job, Seen* seen) {
    ROCHOUND_TRY(auto lake, OpenLake({settings_.lake, settings_.daemons.tenant}));
    ROCHOUND_TRY(const StragglerReport report,
                 FindJobStragglers(lake, job, kJudgedSeconds, kPastSeconds));
    std::vector<int64_t> ranks;
    for (const RankScore& rank : report.ranks)
      if (rank.accused()) ranks.push_back(rank.rank);
    const std::string found = ranks.empty() ? "" : "held up by " + NameRanks(ranks);
    if (found == seen->stragglers) return {};
    seen->stragglers = found;
    return found.empty() ? Result<void>{} : Publish(job, "stragglers", found, report.AsJson());
  }

  // Also if there is no window: then the event says why.
  Result<void> Publish(const std::string& job, const char* kind, const std::string& conclusion,
                       const json& report) {
    const uint64_t now = base::ClockNs(CLOCK_REALTIME);
    const std::string id =
        fmt::format("{}-{}", now / 1'000'000, base::Hex64(base::Fnv1a64(job + kind + conclusion)));
    json event = {{"version", 1},     {"id", id},
                  {"time_ns", now},   {"job", job},
                  {"kind", kind},     {"conclusion", conclusion},
                  {"report", report}, {"from_ns", now - Before()},
                  {"to_ns", now}};
    const auto link = FetchTrace(job, id, now);
    if (link.ok())
      event["trace"] = link.value();
    else
      event["no_trace"] = link.error().message;
    const std::string text = event.dump(-1, ' ', false, json::error_handler_t::replace);
    std::ofstream(fs::path(settings_.output) / "events.jsonl", std::ios::app) << text << "\n";
    PrintText("{} {}: {}: {}\n", TimeText(now), job, kind, conclusion);
    if (link.ok())
      PrintText("  look at it:  rochound explain top {}\n", link.value());
    else
      PrintText("  no trace: {}\n", link.error().message);
    fflush(stdout);
    ROCHOUND_CHECK(requests_.bus().Publish(EventSubject(settings_.daemons.tenant, job, id), id,
                                           text, kPublish));
    return {};
  }

  uint64_t Before() const { return static_cast<uint64_t>(settings_.before_seconds * 1e9); }

  // One trace of what all ranks did before: where it is.
  Result<std::string> FetchTrace(const std::string& job, const std::string& id, uint64_t now) {
    const fs::path folder = fs::absolute(settings_.output) / id;
    ROCHOUND_TRY(const Windows windows,
                 FetchWindows(requests_, {job, now - Before(), now, folder, settings_.by}));
    if (windows.folders.empty()) return base::Error{"no rank has a log: " + windows.text};
    const std::string trace = folder / "trace.rpd";
    ROCHOUND_CHECK(MergeWindows(windows.folders, trace));
    if (settings_.store.empty()) return trace;
    const std::string object = settings_.store + "/" + id + ".rpd";
    ROCHOUND_CHECK(PutObject(trace, object));
    return object;
  }

  const Settings& settings_;
  JobRequests requests_;
  std::map<std::string, Seen> jobs_;
  uint64_t next_stragglers_ns_ = 0;
};

Result<int> RunWatch(const Settings& settings) {
  for (const std::string* place : {&settings.by, &settings.store})
    if (!place->empty() && !IsObjectPath(*place))
      return base::Error{"'" + *place + "' is no storage: s3://BUCKET/PREFIX"};
  ROCHOUND_TRY(auto requests, JobRequests::Connect(settings.daemons));
  Watch watch(settings, std::move(requests));
  ROCHOUND_CHECK(watch.Open());
  CatchSignals();
  while (!asked_to_end) {
    const uint64_t next =
        base::ClockNs(CLOCK_MONOTONIC) + static_cast<uint64_t>(settings.every_seconds * 1e9);
    // Servers may be away for a while.
    if (const auto looked = watch.Look(); !looked.ok()) base::LogWarning(looked.error().message);
    while (!asked_to_end && base::ClockNs(CLOCK_MONOTONIC) < next)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return 0;
}

Result<int> ListEvents(const Settings& settings) {
  ROCHOUND_TRY(auto requests, JobRequests::Connect(settings.daemons));
  const std::string& tenant = settings.daemons.tenant;
  ROCHOUND_TRY(auto messages,
               requests.bus().LastOfEach(EventStream(tenant).name, EventPattern(tenant),
                                         std::chrono::seconds(10)));
  std::vector<json> events;
  for (const StoredMessage& message : messages) {
    auto event = ParseDaemonMessage(message.text);
    if (event && (settings.job.empty() || event->value("job", "") == settings.job))
      events.push_back(std::move(*event));
  }
  std::sort(events.begin(), events.end(), [](const json& a, const json& b) {
    return a.value("time_ns", uint64_t{0}) < b.value("time_ns", uint64_t{0});
  });
  if (settings.json) {
    PrintJson(json(events));
    return 0;
  }
  for (const json& event : events) {
    PrintText("{} {}: {}: {}\n", TimeText(event.value("time_ns", uint64_t{0})),
              event.value("job", ""), event.value("kind", ""), event.value("conclusion", ""));
    const std::string trace = event.value("trace", "");
    PrintText("  {}\n", trace.empty() ? "no trace: " + event.value("no_trace", "") : trace);
  }
  if (events.empty()) PrintText("no event in the last 7 days\n");
  return 0;
}

}  // namespace

FleetCommand WatchCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "watch", "Look for hangs and stragglers in all jobs, and keep what happened before");
  AddDaemonOptions(*command, &settings->daemons);
  command->add_option("--job", settings->jobs, "These alone; may be repeated")->type_name("JOB");
  command
      ->add_option(
          "-o,--output", settings->output,
          "Traces and events.jsonl go there; without --by a folder that daemons see as well")
      ->required()
      ->type_name("FOLDER");
  command
      ->add_option("--by", settings->by,
                   "Daemons write windows into this storage, from where they are fetched: "
                   "s3://BUCKET/PREFIX")
      ->type_name("PLACE");
  command
      ->add_option(
          "--store", settings->store,
          "Traces are kept in this storage, too, and events link to it: s3://BUCKET/PREFIX")
      ->type_name("PLACE");
  command->add_option("--lake", settings->lake, "Look for stragglers there")->type_name("PLACE");
  command->add_option("--every", settings->every_seconds, "Time between two looks for hangs")
      ->check(CLI::Range(3.0, 3600.0))
      ->type_name("SECONDS");
  command
      ->add_option("--stragglers-every", settings->stragglers_every_seconds,
                   "Time between two looks for stragglers")
      ->check(CLI::Range(3.0, 86400.0))
      ->type_name("SECONDS");
  command->add_option("--before", settings->before_seconds, "How much of the past is kept")
      ->check(CLI::Range(1.0, 3600.0))
      ->type_name("SECONDS");
  return {command, [settings] { return RunWatch(*settings); }};
}

FleetCommand EventsCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command =
      app.add_subcommand("events", "What watch has found in the last 7 days, with its traces");
  AddDaemonOptions(*command, &settings->daemons);
  command->add_option("--job", settings->job, "One job alone")->type_name("JOB");
  command->add_flag("--json", settings->json, "As JSON, with all figures");
  return {command, [settings] { return ListEvents(*settings); }};
}

}  // namespace rochound::fleet
