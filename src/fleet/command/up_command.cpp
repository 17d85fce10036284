// SPDX-License-Identifier: MIT
//
// rochound-fleet up --local: the whole fleet on one machine, for trying out. Starts a NATS server,
// a daemon, an aggregator and a watch as children, starts them again when they die, and ends them when it is
// ended. Everything is in one folder; the server listens on the loopback address alone, with
// passwords made for this folder, one user per part.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <system_error>
#include <thread>

#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "fleet/command/commands.h"
#include "fleet/command/print_text.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using base::Result;
using Clock = std::chrono::steady_clock;

struct Settings {
  fs::path folder;
  std::string lake;
  int port = 4250;
  double interval_seconds = 10;
  double flush_seconds = 10;
};

std::string Password() {
  std::random_device random;
  return base::Hex64(uint64_t{random()} << 32 | random()) +
         base::Hex64(uint64_t{random()} << 32 | random());
}

// Readable by us alone.
Result<void> WriteSecret(const fs::path& path, const std::string& text) {
  ROCHOUND_CHECK(base::WriteFileAtomically(path, text));
  if (chmod(path.c_str(), 0600) != 0) return base::ErrnoError("cannot protect", path, errno);
  return {};
}

// What each part may do. Streams are made by whoever needs them first.
Result<void> WriteServer(const Settings& settings) {
  const fs::path file = settings.folder / "nats.conf";
  std::error_code error;
  if (fs::exists(file, error)) return {};  // made before, with its passwords
  const std::string daemon = Password(), aggregator = Password(), control = Password();
  const auto url = [&](const char* user, const std::string& password) {
    return fmt::format("nats://{}:{}@127.0.0.1:{}\n", user, password, settings.port);
  };
  ROCHOUND_CHECK(WriteSecret(settings.folder / "bus.daemon", url("daemon", daemon)));
  ROCHOUND_CHECK(WriteSecret(settings.folder / "bus.aggregator", url("aggregator", aggregator)));
  ROCHOUND_CHECK(WriteSecret(settings.folder / "bus.control", url("control", control)));
  return WriteSecret(
      file, fmt::format(R"(server_name: rochound
listen: 127.0.0.1:{port}
max_payload: 8MB
jetstream {{ store_dir: "{folder}/nats", max_file_store: 4GB, max_mem_store: 256MB }}
authorization {{
  users: [
    {{ user: daemon, password: "{daemon}", permissions: {{
        publish: {{ allow: ["rh.sk.>", "rh.beat.>", "_INBOX.>", "$JS.API.STREAM.INFO.>", "$JS.API.STREAM.CREATE.>", "$JS.API.INFO"] }}
        subscribe: {{ allow: ["_INBOX.>", "rh.ctl.>", "rh.code.>"] }} }} }}
    {{ user: aggregator, password: "{aggregator}", permissions: {{
        publish: {{ allow: ["$JS.API.STREAM.INFO.>", "$JS.API.STREAM.CREATE.>", "$JS.API.INFO", "$JS.API.DIRECT.GET.>", "$JS.API.STREAM.MSG.GET.>", "rh.code.>"] }}
        subscribe: {{ allow: ["_INBOX.>"] }} }} }}
    {{ user: control, password: "{control}", permissions: {{
        publish: {{ allow: ["rh.ctl.>", "rh.event.>", "$JS.API.INFO", "$JS.API.CONSUMER.CREATE.RH_BEAT_default", "$JS.API.CONSUMER.CREATE.RH_BEAT_default.>", "$JS.API.CONSUMER.INFO.RH_BEAT_default.>", "$JS.API.CONSUMER.DELETE.RH_BEAT_default.>", "$JS.API.STREAM.INFO.RH_EVENT_default", "$JS.API.STREAM.CREATE.RH_EVENT_default", "$JS.API.CONSUMER.CREATE.RH_EVENT_default", "$JS.API.CONSUMER.CREATE.RH_EVENT_default.>", "$JS.API.CONSUMER.INFO.RH_EVENT_default.>", "$JS.API.CONSUMER.DELETE.RH_EVENT_default.>"] }}
        subscribe: {{ allow: ["_INBOX.>"] }} }} }}
  ]
}}
)",
                        fmt::arg("port", settings.port),
                        fmt::arg("folder", settings.folder.string()), fmt::arg("daemon", daemon),
                        fmt::arg("aggregator", aggregator), fmt::arg("control", control)));
}

// A child that is started again when it ends.
class Part {
 public:
  Part(std::string name, std::vector<std::string> command, const fs::path& folder)
      : name_(std::move(name)), command_(std::move(command)), folder_(folder) {}

  const std::string& name() const { return name_; }

  void Watch() {
    if (process_ > 0) {
      int status = 0;
      if (waitpid(process_, &status, WNOHANG) != process_) return;
      base::LogWarning(fmt::format("{} ended; see {}", name_, Log().string()));
      process_ = 0;
      next_ = Clock::now() + pause_;
      pause_ = std::min(pause_ * 2, Clock::duration(std::chrono::seconds(30)));
    }
    if (Clock::now() < next_) return;
    Start();
  }

  void End() {
    if (process_ <= 0) return;
    kill(process_, SIGTERM);
    for (int i = 0; i < 100; ++i) {
      if (waitpid(process_, nullptr, WNOHANG) == process_) {
        process_ = 0;
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  fs::path Log() const { return folder_ / (name_ + ".log"); }

  void Start() {
    std::vector<char*> arguments;
    for (std::string& word : command_) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string log = Log().string();
    const pid_t parent = getpid();
    const pid_t process = fork();
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != parent) _exit(1);
      const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      if (out >= 0) {
        dup2(out, 1);
        dup2(out, 2);
      }
      execvp(arguments[0], arguments.data());
      dprintf(2, "cannot start %s\n", arguments[0]);
      _exit(127);
    }
    process_ = process;
    (void)base::WriteFileAtomically(folder_ / (name_ + ".pid"), std::to_string(process) + "\n")
        .ok();
  }

  std::string name_;
  std::vector<std::string> command_;
  fs::path folder_;
  pid_t process_ = 0;
  Clock::time_point next_{};
  Clock::duration pause_ = std::chrono::milliseconds(200);
};

Result<int> Run(Settings& settings) {
  std::error_code error;
  settings.folder = fs::absolute(settings.folder);
  fs::create_directories(settings.folder, error);
  if (error) return base::ErrnoError("cannot make", settings.folder, error.value());
  if (chmod(settings.folder.c_str(), 0700) != 0)
    return base::ErrnoError("cannot protect", settings.folder, errno);
  ROCHOUND_CHECK(WriteServer(settings));
  ROCHOUND_TRY(const fs::path own, base::ExecutablePath());
  const std::string folder = settings.folder.string();
  if (settings.lake.empty()) settings.lake = folder + "/lake";
  std::vector<Part> parts;
  parts.emplace_back("nats-server",
                     std::vector<std::string>{"nats-server", "-c", folder + "/nats.conf"},
                     settings.folder);
  parts.emplace_back(
      "rochoundd",
      std::vector<std::string>{own.parent_path() / "rochoundd", "--state", folder + "/daemon",
                               "--bus", "@" + folder + "/bus.daemon", "--interval",
                               fmt::format("{}", settings.interval_seconds), "--grace", "2",
                               "--beat", "2"},
      settings.folder);
  parts.emplace_back("aggregator",
                     std::vector<std::string>{
                         own, "aggregate", "--bus", "@" + folder + "/bus.aggregator", "--lake",
                         settings.lake, "--flush", fmt::format("{}", settings.flush_seconds)},
                     settings.folder);
  parts.emplace_back("watch",
                     std::vector<std::string>{own, "watch", "--bus", "@" + folder + "/bus.control",
                                              "--lake", settings.lake, "-o", folder + "/windows"},
                     settings.folder);
  CatchSignals();
  PrintText("the fleet of this machine is up; what it writes is in {}\n", folder);
  PrintText("kernels so far:  rochound-fleet kernels --lake {}\n", settings.lake);
  PrintText("who waits:       rochound-fleet hang --bus @{}/bus.control --job JOB\n", folder);
  PrintText("what was found:  rochound-fleet events --bus @{}/bus.control\n", folder);
  fflush(stdout);
  while (!asked_to_end) {
    for (Part& part : parts) part.Watch();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  // The daemon's last messages need the server, the aggregator's last file needs both.
  for (const char* name : {"watch", "rochoundd", "aggregator", "nats-server"})
    for (Part& part : parts)
      if (part.name() == name) part.End();
  return 0;
}

}  // namespace

FleetCommand UpCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "up", "Start server, daemon, aggregator and watch on this machine, until ended");
  command->add_option("--local", settings->folder, "Where everything is kept")
      ->required()
      ->type_name("FOLDER");
  command
      ->add_option("--lake", settings->lake, "Where the lake is; a folder in --local unless told")
      ->type_name("PLACE");
  command->add_option("--port", settings->port, "Of the server, on the loopback address")
      ->check(CLI::Range(1, 65535))
      ->type_name("N");
  command->add_option("--interval", settings->interval_seconds, "Length of a sketch")
      ->type_name("SECONDS");
  command->add_option("--flush", settings->flush_seconds, "Time between files in the lake")
      ->type_name("SECONDS");
  return {command, [settings] { return Run(*settings); }};
}

}  // namespace rochound::fleet
