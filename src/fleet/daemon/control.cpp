// SPDX-License-Identifier: MIT
#include "fleet/daemon/control.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mutex.h"
#include "fleet/bus/names.h"
#include "fleet/daemon/recorders.h"
#include "fleet/daemon/window.h"
#include "fleet/storage/s3_object.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json BeatAsJson(const ProcessBeat& beat) {
  json oldest = json::array();
  for (const InFlight& one : beat.oldest)
    oldest.push_back({{"kernel", one.kernel}, {"queue", one.queue}, {"since_ns", one.since_ns}});
  return {{"rank", beat.place.rank},
          {"ranks", beat.place.ranks},
          {"pid", beat.process},
          {"state", beat.state},
          {"dispatches", beat.dispatches},
          {"launches", beat.launches},
          {"in_flight", beat.open},
          {"oldest", oldest},
          {"collectives", beat.collectives},
          {"last_end_ns", beat.last_end_ns},
          {"recorder_silent_ns", beat.recorder_silent_ns}};
}

// A beat, and what is known beside the log.
json CardOf(const ProcessBeat& beat) {
  json card = BeatAsJson(beat);
  card["exact"] = beat.exact;
  card["open_calls"] = beat.open_calls;
  card["communicators"] = beat.communicators;
  if (beat.log.empty()) return card;  // it has ended
  const HostState host = FindHostState(beat.process);
  card["program"] = host.program;
  card["processor_ns"] = host.processor_ns;
  card["waits_in"] = host.waits_in;
  return card;
}

struct CopiedWindow {
  WindowSize size;
  std::vector<std::string> files;  // in a storage: their names
};

// `place` is a folder that who asks sees as well, or one of a storage. Then the window is copied
// into `staging` first, a folder of our own.
base::Result<CopiedWindow> CopyTo(const fs::path& log, uint64_t from, uint64_t to,
                                  const std::string& place, const fs::path& staging) {
  CopiedWindow copied;
  if (!IsObjectPath(place)) {
    ROCHOUND_TRY(copied.size, CopyWindow(log, from, to, place));
    return copied;
  }
  ROCHOUND_TRY(const base::TempDir own, base::TempDir::Create(staging, "window-"));
  const fs::path window = own.path() / log.filename();
  ROCHOUND_TRY(copied.size, CopyWindow(log, from, to, window));
  for (const fs::directory_entry& entry : fs::directory_iterator(window)) {
    copied.files.push_back(entry.path().filename());
    ROCHOUND_CHECK(PutObject(entry.path(), place + "/" + copied.files.back()));
  }
  return copied;
}

json Windows(const std::vector<ProcessBeat>& beats, const json& request, const std::string& host,
             const fs::path& staging) {
  const uint64_t from = request.at("from_ns"), to = request.at("to_ns");
  const std::string folder = request.at("folder");
  json windows = json::array();
  for (const ProcessBeat& beat : beats) {
    if (beat.log.empty()) continue;
    const std::string place =
        fmt::format("{}/rank{:04}-{}-{}/{}", folder, beat.place.rank, SubjectToken(host),
                    beat.process, beat.log.filename().string());
    const auto copied = CopyTo(beat.log, from, to, place, staging);
    json window = {{"rank", beat.place.rank}, {"pid", beat.process}};
    if (copied.ok()) {
      const WindowSize& size = copied.value().size;
      window["folder"] = place;
      window["chunks"] = size.chunks;
      window["bytes"] = size.bytes;
      window["complete_from_ns"] = size.complete_from_ns;
      if (!copied.value().files.empty()) window["files"] = copied.value().files;
    } else {
      window["error"] = copied.error().message;
    }
    windows.push_back(window);
  }
  return windows;
}

std::vector<JobActions::Process> LivingOf(const std::vector<ProcessBeat>& beats) {
  std::vector<JobActions::Process> living;
  for (const ProcessBeat& beat : beats)
    if (!beat.log.empty()) living.push_back({beat.place.rank, beat.process});
  return living;
}

json OutcomeAsJson(const std::vector<JobActions::Done>& done) {
  json processes = json::array();
  for (const JobActions::Done& one : done)
    processes.push_back({{"rank", one.process.rank},
                         {"pid", one.process.process},
                         {"at_ns", one.at_ns},
                         {"stopped_ns", one.stopped_ns},
                         {"was_recording", one.was_recording},
                         {"error", one.error}});
  return processes;
}

}  // namespace

std::map<std::string, std::string> BeatMessages(const std::string& host, int64_t clock_error_ns,
                                                const std::vector<ProcessBeat>& beats) {
  std::map<std::string, json> jobs;
  for (const ProcessBeat& beat : beats) {
    json& job = jobs[beat.place.job];
    if (job.is_null())
      job = {{"version", 1},
             {"host", host},
             {"job", beat.place.job},
             {"now_ns", base::ClockNs(CLOCK_REALTIME)},
             {"clock_error_ns", clock_error_ns},
             {"processes", json::array()}};
    job["processes"].push_back(BeatAsJson(beat));
  }
  std::map<std::string, std::string> messages;
  for (const auto& [name, job] : jobs)
    messages[name] = job.dump(-1, ' ', false, json::error_handler_t::replace);
  return messages;
}

base::Result<void> Control::Serve(Bus& bus, const std::string& tenant) {
  const auto answer = [this](std::string_view request) { return Answer(request); };
  ROCHOUND_CHECK(bus.Serve(ControlSubject(tenant), answer));
  return bus.Serve(HostControlSubject(tenant, host_), answer);
}

void Control::Update(HostWatch& watch) {
  auto beats = watch.Beats();
  const base::Lock lock(mutex_);
  beats_ = std::move(beats);
  beats_ns_ = base::ClockNs(CLOCK_REALTIME);
}

std::optional<std::string> Control::Answer(std::string_view text) try {
  const json request = json::parse(text);
  const std::string job = request.at("job");
  std::vector<ProcessBeat> beats;
  uint64_t beats_ns = 0;
  {
    const base::Lock lock(mutex_);
    beats_ns = beats_ns_;
    for (const ProcessBeat& beat : beats_)
      if (beat.place.job == job) beats.push_back(beat);
  }
  if (beats.empty()) return std::nullopt;
  json answer = {{"version", 1},
                 {"host", host_},
                 {"now_ns", base::ClockNs(CLOCK_REALTIME)},
                 {"looked_ns", beats_ns},
                 {"clock_error_ns", ClockErrorNs()}};
  const std::string what = request.at("what");
  if (what == "cards") {
    json cards = json::array();
    for (const ProcessBeat& beat : beats) cards.push_back(CardOf(beat));
    answer["cards"] = cards;
  } else if (what == "window") {
    answer["windows"] = Windows(beats, request, host_, staging_);
  } else if (what == "start" || what == "stop") {
    const std::string refused =
        actions_.Add({request.at("id"), what, request.at("at_ns"),
                      request.value("until_ns", uint64_t{0}), LivingOf(beats)});
    if (!refused.empty()) answer["refused"] = refused;
  } else if (what == "outcome") {
    const auto done = actions_.Outcome(request.at("id"));
    if (done) answer["processes"] = OutcomeAsJson(*done);
  } else {
    return std::nullopt;
  }
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
} catch (const std::exception& error) {
  base::LogWarning(fmt::format("a request was not understood: {}", error.what()));
  return std::nullopt;
}

}  // namespace rochound::fleet
