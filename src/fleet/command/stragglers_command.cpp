// SPDX-License-Identifier: MIT
//
// rochound-fleet stragglers: which ranks of a job hold the others up, from the lake.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "fleet/command/commands.h"
#include "fleet/lake/lake.h"
#include "fleet/stragglers/stragglers.h"

namespace rochound::fleet {
namespace {

using base::Result;
using store::duck::Literal;

constexpr int kExitFound = 3;

// A list as DuckDB writes it: [1, 2, 3].
std::vector<uint64_t> ParseList(std::string_view text) {
  std::vector<uint64_t> numbers;
  size_t at = 0;
  while ((at = text.find_first_of("0123456789", at)) != std::string_view::npos) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    numbers.push_back(number);
    at = static_cast<size_t>(end - text.data());
  }
  return numbers;
}

struct Settings {
  std::string lake;
  std::string tenant = "default";
  std::string job;
  double last_seconds = 600;
  double past_seconds = 3600;
  bool json = false;
};

Result<int> Stragglers(const Settings& settings) {
  ROCHOUND_TRY(auto lake, Lake::Open(settings.lake));
  ROCHOUND_TRY(const bool there, lake.MakeView(SubjectToken(settings.tenant)));
  if (!there) return base::Error{"there are no sketches of this tenant in the lake yet"};
  // Counted from the job's last interval: it may have ended long ago.
  const std::string of_job =
      " FROM sketches WHERE loss IS NULL AND rank >= 0 AND job = " + Literal(settings.job);
  ROCHOUND_TRY(
      const int64_t end,
      lake.database().Number("SELECT coalesce(max(from_ns + interval_ns), 0)::BIGINT" + of_job));
  if (end == 0)
    return base::Error{
        fmt::format("the lake has nothing of job '{}' with ranks yet", settings.job)};
  const auto since = static_cast<uint64_t>(end - static_cast<int64_t>(settings.last_seconds * 1e9));
  const auto past = since - static_cast<uint64_t>(settings.past_seconds * 1e9);
  ROCHOUND_TRY(auto rows,
               lake.database().Query(fmt::format(
                   "SELECT rank::BIGINT, host, kernel, code_object, from_ns::BIGINT, "
                   "interval_ns::BIGINT, work_items::BIGINT, scale::BIGINT, zeros::BIGINT, "
                   "sum::BIGINT, min::BIGINT, max::BIGINT, first::BIGINT, buckets::VARCHAR{} AND "
                   "from_ns >= {}",
                   of_job, past)));
  // An interval may come in several rows.
  std::map<std::tuple<int64_t, std::string, std::string, uint64_t>, KernelInterval> merged;
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    const auto number = [&](size_t column) { return static_cast<uint64_t>(rows.Int(column)); };
    Histogram one;
    if (!one.Restore(static_cast<int>(rows.Int(7)), number(8), number(9), number(10), number(11),
                     static_cast<int32_t>(rows.Int(12)), ParseList(rows.Text(13))))
      return base::Error{"a sketch in the lake is damaged"};
    KernelInterval& interval =
        merged[{rows.Int(0), std::string(rows.Text(2)), std::string(rows.Text(3)), number(4)}];
    interval.rank = rows.Int(0);
    interval.host = rows.Text(1);
    interval.kernel = rows.Text(2);
    interval.code_object = rows.Text(3);
    interval.from_ns = number(4);
    interval.interval_ns = number(5);
    interval.work_items += number(6);
    interval.nanoseconds.Merge(one);
  }
  std::vector<KernelInterval> intervals;
  for (auto& [key, interval] : merged) intervals.push_back(std::move(interval));
  const StragglerReport report = FindStragglers(intervals, since);
  if (settings.json)
    fmt::print("{}\n", report.AsJson().dump(1));
  else
    fmt::print("{}", report.AsText());
  if (!report.why_not.empty()) return 1;
  return !report.ranks.empty() && report.ranks.front().accused() ? kExitFound : 0;
}

}  // namespace

FleetCommand StragglersCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "stragglers", "Which ranks of a job hold the others up, by their kernels and by waiting");
  command->add_option("--lake", settings->lake, "A folder, or s3://BUCKET/PREFIX")
      ->required()
      ->type_name("PLACE");
  command->add_option("--tenant", settings->tenant, "Whose")->type_name("NAME");
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
