// SPDX-License-Identifier: MIT
//
// rochound-fleet stragglers: which ranks of a job hold the others up, from the lake.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "fleet/command/commands.h"
#include "fleet/command/job_stragglers.h"
#include "fleet/command/lake_options.h"
#include "fleet/command/print_text.h"

namespace rochound::fleet {
namespace {

using base::Result;

constexpr int kExitFound = 3;

struct Settings {
  LakeOptions lake;
  std::string job;
  double last_seconds = 600;
  double past_seconds = 3600;
  bool json = false;
};

Result<int> Stragglers(const Settings& settings) {
  ROCHOUND_TRY(auto lake, OpenLake(settings.lake));
  ROCHOUND_TRY(const StragglerReport report,
               FindJobStragglers(lake, settings.job, settings.last_seconds, settings.past_seconds));
  if (settings.json)
    PrintJson(report.AsJson());
  else
    PrintText("{}", report.AsText());
  if (!report.why_not.empty()) return 1;
  return !report.ranks.empty() && report.ranks.front().accused() ? kExitFound : 0;
}

}  // namespace

FleetCommand StragglersCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "stragglers", "Which ranks of a job hold the others up, by their kernels and by waiting");
  AddLakeOptions(*command, &settings->lake);
  command->add_option("--job", settings->job, "Which job")->required()->type_name("JOB");
  command
      ->add_option("--last", settings->last_seconds,
                   "The time that is judged, up to the job's last interval")
      ->check(CLI::Range(1.0, 1e8))
      ->type_name("SECONDS");
  command
      ->add_option("--past", settings->past_seconds,
                   "The time before it that each rank is compared with")
      ->check(CLI::Range(0.0, 1e8))
      ->type_name("SECONDS");
  command->add_flag("--json", settings->json, "As JSON, with the figures of all ranks");
  command->footer("Exit code 3: there are stragglers. 0: there are none. 1: it cannot be told.");
  return {command, [settings] { return Stragglers(*settings); }};
}

}  // namespace rochound::fleet
