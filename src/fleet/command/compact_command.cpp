// SPDX-License-Identifier: MIT
//
// rochound-fleet compact: few large files instead of many small ones.
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/log.h"
#include "fleet/bus/bus.h"
#include "fleet/command/commands.h"
#include "fleet/command/lake_options.h"
#include "fleet/command/print_text.h"
#include "fleet/lake/compact.h"

namespace rochound::fleet {
namespace {

using base::Result;

struct Settings {
  LakeOptions lake;
  CompactOptions compact;
  double every_seconds = 0;
  bool json = false;
};

std::string Today() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

Result<int> Run(Settings& settings) {
  CatchSignals();
  settings.compact.tenant = SubjectToken(settings.lake.tenant);
  for (;;) {
    ROCHOUND_TRY(auto lake, Lake::Open(settings.lake.place));
    settings.compact.today = Today();
    const auto done = Compact(lake, settings.compact);
    if (!done.ok() && settings.every_seconds == 0) return done.error();
    if (!done.ok()) {
      base::LogWarning(done.error().message);  // the storage may be away for a while
    } else if (settings.json) {
      const Compacted& facts = done.value();
      fmt::print("{}\n", nlohmann::ordered_json{{"files", facts.files},
                                                {"merged", facts.merged},
                                                {"written", facts.written},
                                                {"removed", facts.removed},
                                                {"rows", facts.rows}}
                             .dump());
    } else {
      const Compacted& facts = done.value();
      PrintText("{} of {} files merged into {}, {} rows; {} removed that were merged before\n",
                facts.merged, facts.files, facts.written, facts.rows, facts.removed);
    }
    fflush(stdout);
    if (settings.every_seconds == 0) return 0;
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(settings.every_seconds);
    while (!asked_to_end && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (asked_to_end) return 0;
  }
}

}  // namespace

FleetCommand CompactCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "compact", "Make few large files of the lake's many small ones. May be killed and run again");
  AddLakeOptions(*command, &settings->lake);
  command->add_option("--rows", settings->compact.rows, "Of a large file; 1000000 unless told")
      ->check(CLI::Range(uint64_t{2}, uint64_t{1} << 32))
      ->type_name("N");
  command
      ->add_option("--least", settings->compact.least_files,
                   "Files that are worth a merge while their day is not over; 8 unless told")
      ->check(CLI::Range(2, 1000000))
      ->type_name("N");
  command->add_option("--every", settings->every_seconds, "Again after this time, until ended")
      ->check(CLI::Range(0.1, 1e6))
      ->type_name("SECONDS");
  command->add_flag("--json", settings->json, "What was done, as JSON");
  return {command, [settings] { return Run(*settings); }};
}

}  // namespace rochound::fleet
