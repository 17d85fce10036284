// SPDX-License-Identifier: MIT
#include "profile/profile_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "codeobj/demangle.h"
#include "profile/formula.h"

namespace rochound::profile {
namespace {

using nlohmann::ordered_json;

ordered_json OrNull(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

// Whole numbers are written as such.
ordered_json ToJson(const Values& values) {
  auto object = ordered_json::object();
  for (const auto& [name, value] : values) {
    const bool whole =
        value >= 0 && value < 9e15 && value == static_cast<double>(static_cast<uint64_t>(value));
    if (whole) {
      object[name] = static_cast<uint64_t>(value);
    } else {
      object[name] = value;
    }
  }
  return object;
}

ordered_json ToJson(const Peak& peak, const char* unit) {
  return {{unit, peak.per_second},
          {"source", peak.source},
          {"measured", peak.measured},
          {"from_table", peak.measured ? OrNull(peak.from_table) : ordered_json(peak.per_second)}};
}

// 1.23 T, 45.6 G, ...
std::string Short(double value) {
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e15, " P"}, {1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
  for (const auto& [unit, name] : kUnits) {
    if (value >= unit) return fmt::format("{:.4g}{}", value / unit, name);
  }
  return fmt::format("{:.4g}", value);
}

// "1.2 T", or "1.2 T measured (1.6 T from the table)".
std::string PeakText(const Peak& peak, const char* unit) {
  std::string text = Short(peak.per_second) + unit;
  if (!peak.measured) return text;
  text += " measured";
  if (peak.from_table) text += fmt::format(" ({}{} from the table)", Short(*peak.from_table), unit);
  return text;
}

std::string Warnings(const CounterSet& set) {
  std::string text;
  for (const std::string& warning : set.warnings) text += "Note: " + warning + "\n";
  return text;
}

std::string ShapeText(const std::array<uint64_t, 3>& sizes) {
  return fmt::format("{}x{}x{}", sizes[0], sizes[1], sizes[2]);
}

}  // namespace

base::Result<std::string> ProfileJson(const CounterSet& set, const Architecture* architecture) {
  ordered_json file = {{"format", "rochound profile"},
                       {"version", 1},
                       {"source", set.source},
                       {"warnings", set.warnings},
                       {"launches", ordered_json::array()}};
  for (const Launch& launch : set.launches) {
    auto metrics = ordered_json::object();
    for (const Metric& metric :
         architecture == nullptr ? std::vector<Metric>() : architecture->metrics) {
      ROCHOUND_TRY(const FormulaValue value, Evaluate(metric.formula, launch.exact));
      metrics[metric.name] = {{"value", OrNull(value.value)},
                              {"unit", metric.unit},
                              {"missing", value.missing},
                              {"formula", metric.formula},
                              {"source", metric.source}};
    }
    file["launches"].push_back({{"kernel", launch.kernel},
                                {"name", codeobj::Demangle(launch.kernel)},
                                {"gpu", launch.gpu},
                                {"target", launch.target},
                                {"process", launch.process},
                                {"order", launch.order},
                                {"grid", launch.grid},
                                {"workgroup", launch.workgroup},
                                {"completed", launch.completed},
                                {"nanoseconds", OrNull(launch.nanoseconds)},
                                {"exact", ToJson(launch.exact)},
                                {"modelled", ToJson(launch.modelled)},
                                {"metrics", metrics}});
  }
  return file.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

std::string RooflineJson(const CounterSet& set, const Device& device, const Peaks& peaks,
                         const std::vector<KernelRoofline>& kernels) {
  auto operations = ordered_json::object();
  for (const auto& [type, peak] : peaks.operations) operations[type] = ToJson(peak, "per_second");
  auto caches = ordered_json::object();
  for (const auto& [level, peak] : peaks.cache_bytes)
    caches[level] = ToJson(peak, "bytes_per_second");
  ordered_json memory = nullptr;
  if (peaks.memory_bytes) memory = ToJson(*peaks.memory_bytes, "bytes_per_second");
  ordered_json file = {
      {"format", "rochound roofline"},
      {"version", 1},
      {"source", set.source},
      {"warnings", set.warnings},
      {"device",
       {{"name", device.name},
        {"target", device.target},
        {"compute_units", device.compute_units},
        {"clock_mhz", device.clock_mhz},
        {"memory_clock_mhz", device.memory_clock_mhz},
        {"memory_width_bits", device.memory_width_bits}}},
      {"peaks", {{"operations", operations}, {"memory", memory}, {"caches", caches}}},
      {"kernels", ordered_json::array()}};
  for (const KernelRoofline& kernel : kernels) {
    ordered_json bytes = nullptr;
    ordered_json intensity = nullptr;
    if (kernel.bytes) {
      bytes = {{"compulsory", kernel.bytes->compulsory},
               {"requested", kernel.bytes->requested},
               {"uncached", kernel.bytes->uncached}};
    }
    if (const auto most = kernel.MostIntensity()) {
      intensity = {{"most", *most},
                   {"least", kernel.bytes ? kernel.Operations() / kernel.bytes->uncached : *most}};
    }
    ordered_json measured = nullptr;
    if (kernel.measured) {
      const std::optional<double>& took = kernel.measured->seconds;
      const auto share = [&](const std::optional<double>& least) {
        return least && took && *took > 0 ? ordered_json(*least / *took) : ordered_json(nullptr);
      };
      measured = {{"seconds", OrNull(took)},
                  {"memory_bytes", OrNull(kernel.measured->memory_bytes)},
                  {"l2_bytes", OrNull(kernel.measured->l2_bytes)},
                  {"of_memory_peak", share(kernel.memory_seconds_least)},
                  {"of_compute_peak", share(kernel.compute_seconds)}};
    }
    ordered_json modelled = nullptr;
    if (kernel.modelled) {
      modelled = {{"to_l2", kernel.modelled->to_l2},
                  {"beyond_l2", kernel.modelled->beyond_l2},
                  {"memory", kernel.modelled->memory},
                  {"memory_seconds", OrNull(kernel.memory_seconds_modelled)}};
    }
    file["kernels"].push_back({{"kernel", kernel.kernel},
                               {"name", codeobj::Demangle(kernel.kernel)},
                               {"grid", kernel.grid},
                               {"workgroup", kernel.workgroup},
                               {"launches", kernel.launches},
                               {"modelled_bytes", modelled},
                               {"measured", measured},
                               {"operations", kernel.operations},
                               {"other_integer_operations", kernel.other_integers},
                               {"bytes", bytes},
                               {"operations_per_byte", intensity},
                               {"compute_seconds_least", OrNull(kernel.compute_seconds)},
                               {"memory_seconds_least", OrNull(kernel.memory_seconds_least)},
                               {"memory_seconds_uncached", OrNull(kernel.memory_seconds_most)},
                               {"verdict", NameOf(kernel.verdict)},
                               {"reasons", kernel.reasons}});
  }
  return file.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

std::string RooflinePage(const CounterSet& set, const Device& device, const Peaks& peaks,
                         const std::vector<KernelRoofline>& kernels) {
  std::string page = Warnings(set);
  const bool is_measured = !kernels.empty() && kernels[0].measured;
  page += is_measured
              ? fmt::format(
                    "{} ({}): hardware counters of its launches. Operations are those of "
                    "all 64 lanes, and packed ones count once.\n",
                    device.name, device.target)
              : fmt::format(
                    "{} ({}): counted exactly on the software GPU; times are the least that "
                    "{} can take, not measured.\n",
                    device.name, device.target, device.name);
  std::vector<std::string> tops;
  for (const auto& [type, peak] : peaks.operations)
    tops.push_back(fmt::format("{} {}", type, PeakText(peak, "")));
  page += fmt::format("Peaks, operations/s: {}\n",
                      tops.empty() ? "not known" : fmt::format("{}", fmt::join(tops, ", ")));
  page += fmt::format("Peak, memory: {}\n",
                      peaks.memory_bytes ? PeakText(*peaks.memory_bytes, "B/s") : "not known");
  for (const KernelRoofline& kernel : kernels) {
    page +=
        fmt::format("\n{}\n  {} x grid {} workgroup {}, by arithmetic and bytes alone: {}\n",
                    base::Printable(codeobj::Demangle(kernel.kernel)), kernel.launches,
                    ShapeText(kernel.grid), ShapeText(kernel.workgroup), NameOf(kernel.verdict));
    if (kernel.bytes) {
      page += fmt::format(
          "  {} operations; {}B must be moved, {}B were asked for, {}B without caches\n",
          Short(kernel.Operations()), Short(kernel.bytes->compulsory),
          Short(kernel.bytes->requested), Short(kernel.bytes->uncached));
    }
    if (kernel.measured && kernel.measured->memory_bytes && kernel.operations_known) {
      page += fmt::format("  {} operations; {}B moved between L2 and memory\n",
                          Short(kernel.Operations()), Short(*kernel.measured->memory_bytes));
    }
    for (const std::string& reason : kernel.reasons)
      page += "  - " + base::Printable(reason) + "\n";
  }
  if (kernels.empty()) page += "\nNo kernel was launched.\n";
  return page;
}

base::Result<std::string> MetricsPage(const CounterSet& set, const Architecture& architecture) {
  std::string page = Warnings(set);
  page += fmt::format("{}: {} launches, metrics of {}\n", set.source, set.launches.size(),
                      architecture.target);
  for (const Launch& launch : set.launches) {
    page += fmt::format("\n{} (grid {}, workgroup {})\n",
                        base::Printable(codeobj::Demangle(launch.kernel)), ShapeText(launch.grid),
                        ShapeText(launch.workgroup));
    for (const Metric& metric : architecture.metrics) {
      ROCHOUND_TRY(const FormulaValue value, Evaluate(metric.formula, launch.exact));
      if (value.value) {
        page += fmt::format("  {:<22} {:>14.6g} {}\n", metric.name, *value.value, metric.unit);
      } else if (value.missing.empty()) {
        page += fmt::format("  {:<22} {:>14} (divided by 0)\n", metric.name, "-");
      } else {
        page += fmt::format("  {:<22} {:>14} (missing: {})\n", metric.name, "-",
                            base::Printable(fmt::format("{}", fmt::join(value.missing, ", "))));
      }
    }
  }
  return page;
}

}  // namespace rochound::profile
