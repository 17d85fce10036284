// SPDX-License-Identifier: MIT
//
// rochound-fleet window, start, stop and capture: what all ranks of a job do in a span of time, of
// the past or of the future. How far their clocks may be apart is part of the result, and so is who
// did not answer.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/clock.h"
#include "base/hash.h"
#include "fleet/command/commands.h"
#include "fleet/command/job_request.h"
#include "fleet/command/print_text.h"
#include "fleet/command/windows.h"

namespace rochound::fleet {
namespace {

using base::Result;
using nlohmann::json;

struct Settings {
  JobSettings job;
  double from_seconds = -30;
  double to_seconds = 0;
  double at_seconds = 2;
  double for_seconds = 5;
  std::string output;
  std::string trace;
  std::string by;
  bool json = false;
};

uint64_t FromNow(double seconds) {
  return static_cast<uint64_t>(static_cast<int64_t>(base::ClockNs(CLOCK_REALTIME)) +
                               static_cast<int64_t>(seconds * 1e9));
}

void SleepUntil(uint64_t realtime_ns) {
  const uint64_t now = base::ClockNs(CLOCK_REALTIME);
  if (realtime_ns > now) std::this_thread::sleep_for(std::chrono::nanoseconds(realtime_ns - now));
}

// False: some are missing.
Result<bool> Fetch(JobRequests& requests, const Settings& settings, uint64_t from_ns,
                   uint64_t to_ns) {
  ROCHOUND_TRY(const Windows windows, FetchWindows(requests, {settings.job.job, from_ns, to_ns,
                                                              settings.output, settings.by}));
  if (!settings.trace.empty() && !windows.folders.empty())
    ROCHOUND_CHECK(MergeWindows(windows.folders, settings.trace));
  if (settings.json) {
    PrintJson(windows.result);
  } else if (windows.folders.empty()) {
    PrintText("{}no window of job '{}' was fetched\n", windows.text, settings.job.job);
  } else {
    PrintText("{}look at it:  rochound explain stragglers {}\n", windows.text,
              settings.trace.empty() ? settings.output + "/rank*" : settings.trace);
  }
  return windows.whole;
}

Result<int> Window(Settings& settings) {
  // From one look at the clock, so that the window is as long as was said.
  const uint64_t from = FromNow(settings.from_seconds);
  const uint64_t to =
      from + static_cast<uint64_t>((settings.to_seconds - settings.from_seconds) * 1e9);
  if (settings.to_seconds <= settings.from_seconds)
    return base::Error{"--to must be later than --from: --from -30 --to 0"};
  ROCHOUND_TRY(auto requests, JobRequests::Connect(settings.job));
  ROCHOUND_TRY(const bool whole, Fetch(requests, settings, from, to));
  return whole ? 0 : 1;
}

struct Switched {
  json processes = json::array();
  bool all = true;
};

// Has recorders started or stopped at T0, and tells what became of it.
Result<Switched> SwitchAt(JobRequests& requests, const Settings& settings, const char* what,
                          uint64_t at_ns, uint64_t until_ns, bool quiet) {
  std::random_device random;
  const std::string id = base::Hex64(uint64_t{random()} << 32 | random());
  ROCHOUND_TRY(const auto accepted, requests.Ask({{"what", what},
                                                  {"job", settings.job.job},
                                                  {"id", id},
                                                  {"at_ns", at_ns},
                                                  {"until_ns", until_ns}}));
  Switched switched;
  switched.all = accepted.silent.empty();
  const auto say = [&](const std::string& text) {
    if (!quiet) PrintText("{}", text);
  };
  for (const json& answer : accepted.answers)
    if (answer.contains("refused")) {
      switched.all = false;
      say(fmt::format("{} refuses: {}\n", answer.value("host", ""), answer.value("refused", "")));
    }
  SleepUntil(until_ns != 0 ? until_ns : at_ns);
  // Recorders have a few seconds to answer.
  const json outcome = {{"what", "outcome"}, {"job", settings.job.job}, {"id", id}};
  std::vector<json> last;
  for (int tries = 0; tries < 40; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ROCHOUND_TRY(const auto answers, requests.Ask(outcome));
    last = answers.answers;
    const auto done = [](const json& answer) { return answer.contains("processes"); };
    if (last.size() >= accepted.answers.size() && std::all_of(last.begin(), last.end(), done))
      break;
  }
  for (const json& answer : last)
    for (json process : answer.value("processes", json::array())) {
      process["host"] = answer.value("host", "");
      process["clock_error_ns"] = answer.value("clock_error_ns", int64_t{-1});
      const std::string error = process.value("error", "");
      const double off =
          (static_cast<double>(process.value("at_ns", uint64_t{0})) - static_cast<double>(at_ns)) *
          1e-6;
      switched.all = switched.all && error.empty();
      say(error.empty()
              ? fmt::format("{}: {} at T0 + {:.1f} ms{}\n", DescribeProcess(answer, process),
                            std::string(what) == "stop" ? "stopped" : "recording", off,
                            process.value("was_recording", false) && std::string(what) == "start"
                                ? ", as it was before"
                                : "")
              : fmt::format("{}: {}\n", DescribeProcess(answer, process), error));
      switched.processes.push_back(std::move(process));
    }
  const std::string silent = DescribeSilent(accepted);
  say(DescribeClocks(accepted.answers) + (silent.empty() ? "" : silent.substr(1) + "\n"));
  return switched;
}

Result<int> StartOrStop(Settings& settings, const char* what) {
  ROCHOUND_TRY(auto requests, JobRequests::Connect(settings.job));
  const uint64_t at = FromNow(settings.at_seconds);
  ROCHOUND_TRY(const Switched switched, SwitchAt(requests, settings, what, at, 0, settings.json));
  if (settings.json) PrintJson(json{{"at_ns", at}, {"processes", switched.processes}});
  return switched.all ? 0 : 1;
}

Result<int> Capture(Settings& settings) {
  ROCHOUND_TRY(auto requests, JobRequests::Connect(settings.job));
  const uint64_t at = FromNow(settings.at_seconds);
  const uint64_t until = at + static_cast<uint64_t>(settings.for_seconds * 1e9);
  ROCHOUND_TRY(const Switched switched,
               SwitchAt(requests, settings, "start", at, until, settings.json));
  // What the GPU had finished by then is in the logs a moment later.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  ROCHOUND_TRY(const bool whole, Fetch(requests, settings, at, until));
  return whole && switched.all ? 0 : 1;
}

void AddOutput(CLI::App& command, Settings* settings) {
  command
      .add_option("-o,--output", settings->output,
                  "Where to; without --by a folder that daemons see as well")
      ->required()
      ->type_name("FOLDER");
  command
      .add_option("--by", settings->by,
                  "Daemons write into this storage, from where it is fetched: s3://BUCKET/PREFIX")
      ->type_name("PLACE");
  command.add_option("--trace", settings->trace, "One trace of all windows, too: all.rpd")
      ->type_name("FILE");
}

void AddAt(CLI::App& command, Settings* settings) {
  command
      .add_option("--at", settings->at_seconds,
                  "T0, in seconds from now: all hosts must have heard of it by then")
      ->check(CLI::Range(0.0, 3600.0))
      ->type_name("SECONDS");
}

FleetCommand Make(CLI::App& app, const char* name, const char* what,
                  const std::function<Result<int>(Settings&)>& run,
                  const std::function<void(CLI::App&, Settings*)>& add) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(name, what);
  AddJobOptions(*command, &settings->job);
  add(*command, settings.get());
  command->add_flag("--json", settings->json, "As JSON");
  command->footer(
      "Exit code 1: not all ranks did it, or somebody did not answer; the result names them.");
  return {command, [settings, run] { return run(*settings); }};
}

}  // namespace

FleetCommand WindowCommand(CLI::App& app) {
  return Make(
      app, "window", "Fetch what all ranks of a job did, from the past, as flight logs", Window,
      [](CLI::App& command, Settings* settings) {
        command.add_option("--from", settings->from_seconds, "Seconds from now: -30")
            ->type_name("SECONDS");
        command.add_option("--to", settings->to_seconds, "Seconds from now")->type_name("SECONDS");
        AddOutput(command, settings);
      });
}

FleetCommand StartCommand(CLI::App& app) {
  return Make(
      app, "start", "Let all recorders of a job start at the same time",
      [](Settings& settings) { return StartOrStop(settings, "start"); }, AddAt);
}

FleetCommand StopCommand(CLI::App& app) {
  return Make(
      app, "stop", "Let all recorders of a job stop at the same time",
      [](Settings& settings) { return StartOrStop(settings, "stop"); }, AddAt);
}

FleetCommand CaptureCommand(CLI::App& app) {
  return Make(app, "capture", "Record all ranks of a job for a while, from the same time on",
              Capture, [](CLI::App& command, Settings* settings) {
                AddAt(command, settings);
                command.add_option("--for", settings->for_seconds, "How long")
                    ->check(CLI::Range(0.1, 600.0))
                    ->type_name("SECONDS");
                AddOutput(command, settings);
              });
}

}  // namespace rochound::fleet
