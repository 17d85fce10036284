// SPDX-License-Identifier: MIT
//
// rochound-fleet regressions, jobs and diff.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "codeobj/demangle.h"
#include "fleet/bus/bus.h"
#include "fleet/command/commands.h"
#include "fleet/command/lake_options.h"
#include "fleet/command/print_text.h"
#include "fleet/history/history.h"
#include "fleet/history/kernel_diff.h"
#include "fleet/history/regressions.h"

namespace rochound::fleet {
namespace {

using base::Result;
using nlohmann::ordered_json;

// A script can tell "there are some" from "it did not work".
constexpr int kExitFound = 3;

struct Settings {
  LakeOptions lake;
  HistoryFilter filter;
  RegressionOptions regressions;
  double least_percent = 3, confidence_percent = 99.9;
  std::string before, after, kernel;
  size_t context = 3;
  bool all = false;
  bool json = false;
};

std::string TimeOf(uint64_t ns) {
  const auto seconds = static_cast<time_t>(ns / 1000000000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

ordered_json BuildJson(const Build& build, const std::string& origin) {
  return {{"code_object", build.code_object},
          {"origin", origin},
          {"first_seen_ns", build.first_seen_ns},
          {"runs", build.runs},
          {"launches", build.launches},
          {"median_ns", build.median_ns},
          {"hosts", build.hosts},
          {"rocm", build.rocm},
          {"jobs", build.jobs}};
}

std::string BuildText(const char* name, const Build& build, const std::string& origin) {
  return fmt::format(
      "  {:<7} {}  median {:.1f} us in {} run{} on {} host{}, first seen {}{}{}\n", name,
      build.code_object.substr(0, 12), build.median_ns * 1e-3, build.runs,
      build.runs == 1 ? "" : "s", build.hosts.size(), build.hosts.size() == 1 ? "" : "s",
      TimeOf(build.first_seen_ns),
      build.rocm.empty() ? "" : fmt::format(", ROCm {}", fmt::join(build.rocm, " and ")),
      origin.empty() ? "" : ", from " + origin);
}

Result<int> Regressions(Settings& settings) {
  settings.regressions.least = settings.least_percent / 100;
  settings.regressions.confidence = settings.confidence_percent / 100;
  ROCHOUND_TRY(auto lake, OpenLake(settings.lake));
  // Other kernels say what the hosts did meanwhile, so all are loaded.
  HistoryFilter everything = settings.filter;
  everything.kernel.clear();
  ROCHOUND_TRY(const auto observations, LoadObservations(lake, everything));
  auto compared = CompareBuilds(observations, settings.regressions);
  if (!settings.filter.kernel.empty())
    std::erase_if(compared, [&](const Comparison& one) {
      return one.kernel.find(settings.filter.kernel) == std::string::npos &&
             codeobj::Demangle(one.kernel).find(settings.filter.kernel) == std::string::npos;
    });
  const std::string tenant = SubjectToken(settings.lake.tenant);
  const auto origin = [&](const Build& build) -> std::string {
    const auto code = lake.ReadCode(tenant, build.code_object, false);
    return code.ok() ? code.value().origin : "";
  };
  size_t slower = 0;
  for (const Comparison& one : compared) slower += one.verdict == Verdict::kSlower;
  if (settings.json) {
    ordered_json answer = {{"slower", slower}, {"comparisons", ordered_json::array()}};
    for (const Comparison& one : compared)
      answer["comparisons"].push_back({{"kernel", one.kernel},
                                       {"verdict", VerdictInWords(one.verdict)},
                                       {"by", one.by},
                                       {"low", one.low},
                                       {"high", one.high},
                                       {"confidence", settings.regressions.confidence},
                                       {"unchanged_kernels", one.unchanged},
                                       {"unchanged_by", one.unchanged_by},
                                       {"before", BuildJson(one.before, origin(one.before))},
                                       {"after", BuildJson(one.after, origin(one.after))}});
    PrintJson(answer);
    return slower == 0 ? 0 : kExitFound;
  }
  if (observations.empty())
    PrintText("nothing to compare: no sketch here knows which build its kernel is from\n");
  else
    PrintText("{} of {} changes of a kernel's build made it slower by more than {}%\n", slower,
              compared.size(), settings.least_percent);
  for (const Comparison& one : compared) {
    if (one.verdict != Verdict::kSlower && !settings.all) continue;
    PrintText("\n{}\n", codeobj::Demangle(one.kernel));
    if (one.verdict == Verdict::kSlower || one.verdict == Verdict::kFaster ||
        one.verdict == Verdict::kSame)
      PrintText("  {}: {:+.1f}% ({:+.1f}% to {:+.1f}% with {}% confidence)\n",
                VerdictInWords(one.verdict), one.by * 100, one.low * 100, one.high * 100,
                settings.confidence_percent);
    else
      PrintText("  {}\n", VerdictInWords(one.verdict));
    PrintText("{}", BuildText("before", one.before, origin(one.before)));
    PrintText("{}", BuildText("after", one.after, origin(one.after)));
    if (one.unchanged != 0)
      PrintText("  {} kernels of the same processes that did not change: {:+.1f}%, taken off\n",
                one.unchanged, one.unchanged_by * 100);
    PrintText("  why: rochound-fleet diff --lake {} {} {} --kernel {}\n", settings.lake.place,
              one.before.code_object.substr(0, 12), one.after.code_object.substr(0, 12),
              one.kernel);
  }
  return slower == 0 ? 0 : kExitFound;
}

Result<int> Jobs(const Settings& settings) {
  ROCHOUND_TRY(auto lake, OpenLake(settings.lake));
  ROCHOUND_TRY(const auto jobs, LoadJobs(lake, settings.filter));
  if (settings.json) {
    ordered_json answer = ordered_json::array();
    for (const JobHistory& one : jobs)
      answer.push_back({{"job", one.job},
                        {"first_ns", one.first_ns},
                        {"last_ns", one.last_ns},
                        {"ranks", one.ranks},
                        {"hosts", one.hosts},
                        {"processes", one.processes},
                        {"gpus", one.gpus},
                        {"kernels", one.kernels},
                        {"launches", one.launches},
                        {"busy_ns", one.busy_ns},
                        {"lost", one.lost}});
    PrintJson(answer);
    return 0;
  }
  PrintText("{:<16} {:<16} {:>6} {:>6} {:>6} {:>8} {:>13} {:>12} {:>8}  {}\n", "from", "to (UTC)",
            "ranks", "hosts", "GPUs", "kernels", "launches", "busy s", "lost", "job");
  for (const JobHistory& one : jobs)
    PrintText("{:<16} {:<16} {:>6} {:>6} {:>6} {:>8} {:>13} {:>12.3f} {:>8}  {}\n",
              TimeOf(one.first_ns), TimeOf(one.last_ns), one.ranks, one.hosts, one.gpus,
              one.kernels, one.launches, static_cast<double>(one.busy_ns) * 1e-9, one.lost,
              one.job);
  return 0;
}

Result<int> Diff(const Settings& settings) {
  ROCHOUND_TRY(auto lake, Lake::Open(settings.lake.place));
  const std::string tenant = SubjectToken(settings.lake.tenant);
  ROCHOUND_TRY(const Lake::Code before, lake.ReadCode(tenant, settings.before));
  ROCHOUND_TRY(const Lake::Code after, lake.ReadCode(tenant, settings.after));
  ROCHOUND_TRY(auto diff,
               DiffKernels(before.bytes, after.bytes, settings.kernel, settings.context));
  if (settings.json) {
    diff.json["code_objects"] = {before.hash, after.hash};
    diff.json["origins"] = {before.origin, after.origin};
    PrintJson(diff.json);
    return 0;
  }
  for (const auto& [name, code] : {std::pair("before", &before), std::pair("after", &after)})
    PrintText("{:<7} {}  {} bytes, from {} on {}\n", name, code->hash.substr(0, 12),
              code->bytes.size(), code->origin, code->host);
  PrintText("\n{}", diff.text);
  return 0;
}

}  // namespace

FleetCommand RegressionsCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "regressions",
      "Kernels that became slower with another build, and which build that is. Exit "
      "code 3: there are some");
  AddLakeOptions(*command, &settings->lake);
  AddHistoryOptions(*command, &settings->filter);
  command
      ->add_option("--least", settings->least_percent, "Report changes above this; 3 unless told")
      ->check(CLI::Range(0.0, 1000.0))
      ->type_name("PERCENT");
  command
      ->add_option("--confidence", settings->confidence_percent,
                   "That no kernel is accused by chance; 99.9 unless told")
      ->check(CLI::Range(50.0, 99.99999))
      ->type_name("PERCENT");
  command->add_flag("--all", settings->all, "All changes of builds, with what is known of them");
  command->add_flag("--json", settings->json, "As JSON, all changes");
  return {command, [settings] { return Regressions(*settings); }};
}

FleetCommand JobsCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand("jobs", "Jobs that the lake knows, the last first");
  AddLakeOptions(*command, &settings->lake);
  AddHistoryOptions(*command, &settings->filter);
  command->add_flag("--json", settings->json, "As JSON");
  return {command, [settings] { return Jobs(*settings); }};
}

FleetCommand DiffCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "diff", "Two builds of a kernel beside each other: resources and instructions");
  AddLakeOptions(*command, &settings->lake);
  command->add_option("before", settings->before, "The beginning of a code object's hash")
      ->required()
      ->type_name("HASH");
  command->add_option("after", settings->after, "That of the other one")
      ->required()
      ->type_name("HASH");
  command->add_option("--kernel", settings->kernel, "Its symbol, or a part of its name")
      ->type_name("NAME");
  command
      ->add_option("--context", settings->context,
                   "Instructions shown around each change; 3 unless told")
      ->type_name("N");
  command->add_flag("--json", settings->json, "As JSON, all instructions");
  return {command, [settings] { return Diff(*settings); }};
}

}  // namespace rochound::fleet
