// SPDX-License-Identifier: MIT
//
// rochoundd: one per host. Follows the logs of all recorded programs, makes sketches of them, and
// brings these to the bus. The programs do not know it; when it dies, they notice nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/options_run.h"
#include "fleet/bus/bus.h"
#include "fleet/bus/names.h"
#include "fleet/daemon/code_store.h"
#include "fleet/daemon/control.h"
#include "fleet/daemon/host_watch.h"
#include "fleet/daemon/publisher.h"

namespace {

namespace base = rochound::base;
namespace fleet = rochound::fleet;
using std::chrono::milliseconds;

std::atomic<bool> asked_to_end{false};

void End(int) { asked_to_end = true; }

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

struct Settings {
  fleet::WatchOptions watch;
  fleet::BusOptions bus;
  fleet::Publisher::Options publisher;
  uint32_t poll_ms = 500;
  uint32_t beat_seconds = 10;
  double interval_seconds = 60;
  double grace_seconds = 5;
  uint64_t spool_mb = 256;
  uint64_t code_mb = 256;
  bool once = false;
};

void AddOptions(CLI::App& app, Settings* settings) {
  app.add_option("--state", settings->watch.state,
                 "A folder of the daemon's own: its state and messages that wait")
      ->required()
      ->type_name("FOLDER");
  app.add_option("--bus", settings->bus.servers,
                 "NATS servers; @FILE: read them from there. Without any, messages stay in the "
                 "state folder")
      ->type_name("URL");
  app.add_option("--credentials", settings->bus.credentials, "The daemon's .creds file")
      ->type_name("FILE");
  app.add_option("--authority", settings->bus.authority,
                 "TLS: who signed the servers' certificates")
      ->type_name("FILE");
  app.add_option("--certificate", settings->bus.certificate, "TLS: this host's certificate")
      ->type_name("FILE");
  app.add_option("--key", settings->bus.key, "TLS: the key of it")->type_name("FILE");
  app.add_option("--tenant", settings->watch.tenant, "Whose programs these are")->type_name("NAME");
  app.add_option("--host", settings->watch.host, "This host's name in the fleet")
      ->type_name("NAME");
  app.add_option("--shards", settings->watch.shards, "How many streams sketches are spread over")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_option("--replicas", settings->publisher.replicas,
                 "Servers that keep each message, if this daemon makes the stream")
      ->check(CLI::Range(1, 5))
      ->type_name("N");
  app.add_option("--logs", settings->watch.logs, "Follow all flight logs in this folder, too")
      ->type_name("FOLDER");
  app.add_option("--interval", settings->interval_seconds, "Length of a sketch")
      ->check(CLI::Range(0.1, 86400.0))
      ->type_name("SECONDS");
  app.add_option("--grace", settings->grace_seconds, "How long a sketch waits for late times")
      ->check(CLI::Range(0.0, 3600.0))
      ->type_name("SECONDS");
  app.add_option("--beat", settings->beat_seconds, "Time between beats")
      ->check(CLI::Range(1, 3600))
      ->type_name("SECONDS");
  app.add_option("--poll", settings->poll_ms, "Time between looks at the logs")
      ->check(CLI::Range(10, 60000))
      ->type_name("MS");
  app.add_option("--spool", settings->spool_mb, "Most that messages may take that wait")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("MB");
  app.add_option("--code", settings->code_mb,
                 "Most that code objects may take that nobody has asked for yet")
      ->check(CLI::Range(0, 1 << 20))
      ->type_name("MB");
  app.add_flag("--once", settings->once, "Read what there is, send it, and end");
}

void SendBeats(fleet::Bus& bus, const Settings& settings, fleet::HostWatch& watch) {
  for (const auto& [job, text] :
       fleet::BeatMessages(settings.watch.host, fleet::ClockErrorNs(), watch.Beats()))
    (void)bus.Send(fleet::BeatSubject(settings.watch.tenant, job, settings.watch.host), text).ok();
}

base::Result<void> Run(Settings settings) {
  if (settings.watch.host.empty()) settings.watch.host = HostName();
  settings.watch.interval_ns = static_cast<uint64_t>(settings.interval_seconds * 1e9);
  settings.watch.grace_ns = static_cast<uint64_t>(settings.grace_seconds * 1e9);
  settings.watch.save_ns = 2'000'000'000;
  settings.watch.spool_bytes = settings.spool_mb << 20;
  fleet::CodeStore code(settings.watch.state / "code", settings.code_mb << 20);
  settings.watch.code_store = &code;
  fleet::HostWatch watch(settings.watch);
  ROCHOUND_CHECK(watch.Open());
  std::unique_ptr<fleet::Control> control;  // outlives the bus, whose threads call it
  std::unique_ptr<fleet::Bus> bus;
  std::unique_ptr<fleet::Publisher> publisher;
  if (!settings.bus.servers.empty()) {
    ROCHOUND_CHECK(fleet::ReadServers(&settings.bus));
    settings.bus.name = "rochoundd " + settings.watch.host;
    ROCHOUND_TRY(bus, fleet::Bus::Connect(settings.bus));
    control = std::make_unique<fleet::Control>(settings.watch.host, settings.watch.state);
    ROCHOUND_CHECK(control->Serve(*bus, settings.watch.tenant));
    ROCHOUND_CHECK(code.Serve(*bus, settings.watch.tenant, settings.watch.host));
    settings.publisher.tenant = settings.watch.tenant;
    settings.publisher.host = settings.watch.host;
    settings.publisher.epoch = watch.epoch();
    publisher = std::make_unique<fleet::Publisher>(bus.get(), &watch.spool(), settings.publisher);
  }
  bool beat_stream = false;
  auto next_beat = std::chrono::steady_clock::now();
  for (;;) {
    const auto begin = std::chrono::steady_clock::now();
    const bool last = asked_to_end || settings.once;
    if (const auto done = watch.Step(last); !done.ok()) {
      // A full disk, for instance: the logs keep what was not read.
      base::LogWarning(done.error().message);
      if (last) return done;
    }
    if (control != nullptr) control->Update(watch);
    if (publisher != nullptr) publisher->Wake();
    if (bus != nullptr && begin >= next_beat && bus->connected()) {
      beat_stream = beat_stream || bus->MakeStream(fleet::BeatStream(settings.watch.tenant)).ok();
      SendBeats(*bus, settings, watch);
      next_beat = begin + std::chrono::seconds(settings.beat_seconds);
    }
    if (last) break;
    const auto next = begin + milliseconds(settings.poll_ms);
    while (!asked_to_end && std::chrono::steady_clock::now() < next)
      std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(
          milliseconds(50), next - std::chrono::steady_clock::now()));
  }
  if (publisher != nullptr) publisher->Drain(milliseconds(settings.once ? 30000 : 3000));
  if (const size_t left = watch.spool().size(); left != 0 && publisher != nullptr)
    base::LogInfo(fmt::format("{} messages wait in {}", left, settings.watch.state.string()));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("rochoundd: follows the recorded programs of this host for the fleet", "rochoundd");
  app.set_version_flag("--version", "rochoundd " ROCHOUND_VERSION);
  Settings settings;
  AddOptions(app, &settings);
  CLI11_PARSE(app, argc, argv);
  base::RecordOptionsOf(app);
  struct sigaction action{};
  action.sa_handler = End;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const auto done = Run(std::move(settings));
  if (done.ok()) return 0;
  base::LogError(done.error().message);
  return 1;
}
