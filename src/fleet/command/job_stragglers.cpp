// SPDX-License-Identifier: MIT
#include "fleet/command/job_stragglers.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

namespace rochound::fleet {
namespace {

using base::Result;
using store::duck::Literal;

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

}  // namespace

Result<StragglerReport> FindJobStragglers(Lake& lake, const std::string& job, double last_seconds,
                                          double past_seconds) {
  // Counted from the job's last interval: it may have ended long ago.
  const std::string of_job =
      " FROM sketches WHERE loss IS NULL AND rank >= 0 AND job = " + Literal(job);
  ROCHOUND_TRY(const int64_t end,
               lake.database().Number("SELECT coalesce(max(from_ns + interval_ns), 0)" + of_job));
  if (end == 0)
    return base::Error{fmt::format("the lake has nothing of job '{}' with ranks yet", job)};
  const auto since = static_cast<uint64_t>(end - static_cast<int64_t>(last_seconds * 1e9));
  const auto past = since - static_cast<uint64_t>(past_seconds * 1e9);
  ROCHOUND_TRY(
      auto rows,
      lake.database().Query(fmt::format(
          "SELECT rank, host, kernel, code_object, from_ns, interval_ns, work_items, scale, "
          "zeros, sum, min, max, first, buckets::VARCHAR{} AND "
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
  return FindStragglers(intervals, since);
}

}  // namespace rochound::fleet
