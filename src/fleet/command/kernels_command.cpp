// SPDX-License-Identifier: MIT
//
// rochound-fleet kernels and ask: what the lake knows.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "codeobj/demangle.h"
#include "fleet/command/commands.h"
#include "fleet/lake/lake.h"
#include "fleet/sketch/histogram.h"

namespace rochound::fleet {
namespace {

using base::Result;
using nlohmann::json;
using store::duck::Literal;

struct Settings {
  std::string lake;
  std::string tenant = "default";
  std::string job;
  std::string sql;
  bool json = false;
};

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

struct Kernel {
  Histogram ns;
  uint64_t launches = 0, untimed = 0;
};

Result<int> Kernels(const Settings& settings) {
  ROCHOUND_TRY(auto lake, Lake::Open(settings.lake));
  ROCHOUND_TRY(const bool there, lake.MakeView(SubjectToken(settings.tenant)));
  if (!there) return base::Error{"there are no sketches of this tenant in the lake yet"};
  const std::string where = settings.job.empty() ? "" : " AND job = " + Literal(settings.job);
  std::map<std::pair<std::string, std::string>, Kernel> kernels;
  {
    ROCHOUND_TRY(
        auto rows,
        lake.database().Query(
            "SELECT kernel, code_object, launches::BIGINT, untimed::BIGINT, scale::BIGINT, "
            "zeros::BIGINT, sum::BIGINT, min::BIGINT, max::BIGINT, first::BIGINT, "
            "buckets::VARCHAR FROM sketches WHERE loss IS NULL" +
            where));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      Kernel& kernel = kernels[{std::string(rows.Text(0)), std::string(rows.Text(1))}];
      const auto number = [&](size_t column) { return static_cast<uint64_t>(rows.Int(column)); };
      Histogram one;
      if (!one.Restore(static_cast<int>(rows.Int(4)), number(5), number(6), number(7), number(8),
                       static_cast<int32_t>(rows.Int(9)), ParseList(rows.Text(10))))
        return base::Error{"a sketch in the lake is damaged"};
      kernel.ns.Merge(one);
      kernel.launches += number(2);
      kernel.untimed += number(3);
    }
  }
  std::vector<std::pair<std::pair<std::string, std::string>, Kernel>> sorted(kernels.begin(),
                                                                             kernels.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(b.second.ns.sum(), a.first) < std::pair(a.second.ns.sum(), b.first);
  });
  json losses = json::array();
  {
    ROCHOUND_TRY(auto rows, lake.database().Query(
                                "SELECT loss, sum(lost)::BIGINT FROM sketches WHERE loss IS NOT "
                                "NULL" +
                                where + " GROUP BY loss ORDER BY loss"));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      losses.push_back({{"what", std::string(rows.Text(0))}, {"count", rows.Int(1)}});
    }
  }
  if (settings.json) {
    json answer = {{"kernels", json::array()}, {"losses", losses}};
    for (const auto& [key, kernel] : sorted) {
      const Histogram& ns = kernel.ns;
      answer["kernels"].push_back({{"kernel", key.first},
                                   {"code_object", key.second},
                                   {"launches", kernel.launches},
                                   {"untimed", kernel.untimed},
                                   {"sum_ns", ns.sum()},
                                   {"min_ns", ns.min()},
                                   {"max_ns", ns.max()},
                                   {"p50_ns", ns.Quantile(0.5)},
                                   {"p99_ns", ns.Quantile(0.99)},
                                   {"relative_error", ns.RelativeError()},
                                   {"scale", ns.scale()},
                                   {"zeros", ns.zeros()},
                                   {"first", ns.offset()},
                                   {"buckets", ns.buckets()}});
    }
    fmt::print("{}\n", answer.dump(1));
    return 0;
  }
  for (const json& loss : losses)
    fmt::print("lost: {} {}\n", loss.at("count").get<int64_t>(),
               loss.at("what").get<std::string>());
  fmt::print("{:>12} {:>12} {:>11} {:>11} {:>11}  {}\n", "launches", "total ms", "p50 us", "p99 us",
             "max us", "kernel");
  for (const auto& [key, kernel] : sorted)
    fmt::print("{:>12} {:>12.3f} {:>11.1f} {:>11.1f} {:>11.1f}  {}{}\n", kernel.launches,
               static_cast<double>(kernel.ns.sum()) * 1e-6, kernel.ns.Quantile(0.5) * 1e-3,
               kernel.ns.Quantile(0.99) * 1e-3, static_cast<double>(kernel.ns.max()) * 1e-3,
               codeobj::Demangle(key.first),
               key.second.empty() ? "" : fmt::format(" [{}]", key.second.substr(0, 12)));
  return 0;
}

Result<int> Ask(const Settings& settings) {
  ROCHOUND_TRY(auto lake, Lake::Open(settings.lake));
  ROCHOUND_TRY(const bool there, lake.MakeView(SubjectToken(settings.tenant)));
  if (!there) return base::Error{"there are no sketches of this tenant in the lake yet"};
  ROCHOUND_TRY(auto rows, lake.database().Query(settings.sql));
  const auto line = [&](auto value) {
    for (size_t column = 0; column < rows.columns(); ++column)
      fmt::print("{}{}", column == 0 ? "" : "\t", value(column));
    fmt::print("\n");
  };
  line([&](size_t column) { return rows.name(column); });
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return 0;
    line([&](size_t column) -> std::string {
      if (rows.IsNull(column)) return "";
      if (rows.kind(column) == store::duck::Kind::kInteger)
        return fmt::format("{}", rows.Int(column));
      if (rows.kind(column) == store::duck::Kind::kReal)
        return fmt::format("{}", rows.Real(column));
      return std::string(rows.Text(column));
    });
  }
}

void AddLakeOptions(CLI::App& command, Settings* settings) {
  command.add_option("--lake", settings->lake, "A folder, or s3://BUCKET/PREFIX")
      ->required()
      ->type_name("PLACE");
  command.add_option("--tenant", settings->tenant, "Whose")->type_name("NAME");
}

}  // namespace

FleetCommand KernelsCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command =
      app.add_subcommand("kernels", "Kernels of the whole fleet, from the lake");
  AddLakeOptions(*command, settings.get());
  command->add_option("--job", settings->job, "One job alone")->type_name("JOB");
  command->add_flag("--json", settings->json, "As JSON, with the merged sketches");
  return {command, [settings] { return Kernels(*settings); }};
}

FleetCommand AskCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command =
      app.add_subcommand("ask", "Ask the lake in SQL; its rows are the view sketches");
  AddLakeOptions(*command, settings.get());
  command->add_option("sql", settings->sql, "The question")->required()->type_name("SQL");
  return {command, [settings] { return Ask(*settings); }};
}

}  // namespace rochound::fleet
