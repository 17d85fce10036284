// SPDX-License-Identifier: MIT
#include "fleet/command/lake_options.h"

#include "fleet/bus/bus.h"

namespace rochound::fleet {

void AddLakeOptions(CLI::App& command, LakeOptions* options) {
  command.add_option("--lake", options->place, "A folder, or s3://BUCKET/PREFIX")
      ->required()
      ->type_name("PLACE");
  command.add_option("--tenant", options->tenant, "Whose")->type_name("NAME");
}

void AddHistoryOptions(CLI::App& command, HistoryFilter* filter) {
  const auto day = [](const std::string& text) -> std::string {
    const bool good = text.size() == 10 && text[4] == '-' && text[7] == '-' &&
                      text.find_first_not_of("0123456789-") == std::string::npos;
    return good ? "" : "'" + text + "' is no day: write it as 2026-11-17";
  };
  command.add_option("--job", filter->job, "One job alone")->type_name("JOB");
  command
      .add_option("--kernel", filter->kernel, "Kernels with this in their symbol or in their name")
      ->type_name("TEXT");
  command.add_option("--since", filter->since, "From this day on, UTC")
      ->check(day)
      ->type_name("DAY");
  command.add_option("--until", filter->until, "Up to this day, UTC")->check(day)->type_name("DAY");
}

base::Result<Lake> OpenLake(const LakeOptions& options) {
  ROCHOUND_TRY(auto lake, Lake::Open(options.place));
  ROCHOUND_TRY(const bool there, lake.MakeView(SubjectToken(options.tenant)));
  if (!there)
    return base::Error{"there are no sketches of the tenant '" + options.tenant +
                       "' in the lake yet: does an aggregator write to it?"};
  return lake;
}

}  // namespace rochound::fleet
