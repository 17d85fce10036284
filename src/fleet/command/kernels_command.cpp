// SPDX-License-Identifier: MIT
//
// rochound-fleet kernels and ask: what the lake knows.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "codeobj/demangle.h"
#include "fleet/command/commands.h"
#include "fleet/command/lake_options.h"
#include "fleet/command/print_text.h"
#include "fleet/history/history.h"
#include "fleet/lake/lake.h"

namespace rochound::fleet {
namespace {

using base::Result;
using nlohmann::json;
using store::duck::Literal;

struct Settings {
  LakeOptions lake;
  HistoryFilter filter;
  std::vector<std::string> by = {"build"};
  std::string sql;
  bool json = false;
};

Result<json> Losses(Lake& lake, const HistoryFilter& filter) {
  const std::string where = filter.job.empty() ? "" : " AND job = " + Literal(filter.job);
  ROCHOUND_TRY(auto rows, lake.database().Query("SELECT loss, sum(lost) FROM sketches "
                                                "WHERE loss IS NOT NULL" +
                                                where + " GROUP BY loss ORDER BY loss"));
  json losses = json::array();
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return losses;
    losses.push_back({{"what", std::string(rows.Text(0))}, {"count", rows.Int(1)}});
  }
}

// What --json calls a key: as the lake does.
std::string JsonName(const std::string& word) { return word == "build" ? "code_object" : word; }

Result<int> Kernels(const Settings& settings) {
  ROCHOUND_TRY(auto lake, OpenLake(settings.lake));
  ROCHOUND_TRY(const auto kernels, LoadKernels(lake, settings.filter, settings.by));
  ROCHOUND_TRY(const json losses, Losses(lake, settings.filter));
  if (settings.json) {
    json answer = {{"kernels", json::array()}, {"losses", losses}};
    for (const KernelHistory& kernel : kernels) {
      const Histogram& ns = kernel.ns;
      json row = {{"kernel", kernel.kernel},
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
                  {"buckets", ns.buckets()}};
      for (size_t i = 0; i < settings.by.size(); ++i)
        row[JsonName(settings.by[i])] = kernel.keys[i];
      answer["kernels"].push_back(std::move(row));
    }
    PrintJson(answer);
    return 0;
  }
  for (const json& loss : losses)
    PrintText("lost: {} {}\n", loss.at("count").get<int64_t>(), loss.at("what").get<std::string>());
  // A hash is shown as far as anybody types it.
  const auto shown = [&](size_t column, const std::string& key) {
    if (key.empty()) return std::string("?");
    return settings.by[column] == "build" ? key.substr(0, 12) : key;
  };
  std::vector<size_t> widths;
  for (size_t i = 0; i < settings.by.size(); ++i) {
    widths.push_back(settings.by[i].size());
    for (const KernelHistory& kernel : kernels)
      widths[i] = std::max(widths[i], shown(i, kernel.keys[i]).size());
  }
  PrintText("{:>12} {:>12} {:>11} {:>11} {:>11}", "launches", "total ms", "p50 us", "p99 us",
            "max us");
  for (size_t i = 0; i < widths.size(); ++i) PrintText("  {:<{}}", settings.by[i], widths[i]);
  PrintText("  kernel\n");
  for (const KernelHistory& kernel : kernels) {
    PrintText("{:>12} {:>12.3f} {:>11.1f} {:>11.1f} {:>11.1f}", kernel.launches,
              static_cast<double>(kernel.ns.sum()) * 1e-6, kernel.ns.Quantile(0.5) * 1e-3,
              kernel.ns.Quantile(0.99) * 1e-3, static_cast<double>(kernel.ns.max()) * 1e-3);
    for (size_t i = 0; i < widths.size(); ++i)
      PrintText("  {:<{}}", shown(i, kernel.keys[i]), widths[i]);
    PrintText("  {}\n", codeobj::Demangle(kernel.kernel));
  }
  return 0;
}

Result<int> Ask(const Settings& settings) {
  ROCHOUND_TRY(auto lake, OpenLake(settings.lake));
  ROCHOUND_TRY(auto rows, lake.database().Query(settings.sql));
  const auto line = [&](auto value) {
    for (size_t column = 0; column < rows.columns(); ++column)
      PrintText("{}{}", column == 0 ? "" : "\t", value(column));
    PrintText("\n");
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

}  // namespace

FleetCommand KernelsCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command =
      app.add_subcommand("kernels", "Kernels of the whole fleet, from the lake");
  AddLakeOptions(*command, &settings->lake);
  AddHistoryOptions(*command, &settings->filter);
  std::vector<std::string> words;
  for (const HistoryKey& key : kHistoryKeys) words.emplace_back(key.word);
  command
      ->add_option("--by", settings->by,
                   "What is kept apart beside kernels, one or more of build, host, rocm, day, job, "
                   "rank, gpu; build unless told")
      ->delimiter(',')
      ->check(CLI::IsMember(words))
      ->type_name("WHAT");
  command->add_flag("--json", settings->json, "As JSON, with the merged sketches");
  return {command, [settings] { return Kernels(*settings); }};
}

FleetCommand AskCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command =
      app.add_subcommand("ask", "Ask the lake in SQL; its rows are the view sketches");
  AddLakeOptions(*command, &settings->lake);
  command->add_option("sql", settings->sql, "The question")->required()->type_name("SQL");
  return {command, [settings] { return Ask(*settings); }};
}

}  // namespace rochound::fleet
