// SPDX-License-Identifier: MIT
#include "profile/architecture.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "profile/formula.h"

namespace rochound::profile {

using nlohmann::json;

base::Result<Architecture> LoadArchitecture(const std::filesystem::path& folder,
                                            const std::string& target) {
  const std::filesystem::path file = folder / (target + ".json");
  ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
  const json object = json::parse(text, nullptr, false);
  if (object.is_discarded()) return base::Error{file.string() + " is no JSON"};
  Architecture architecture;
  try {
    architecture.target = object.at("target").get<std::string>();
    architecture.transfers_per_memory_clock = object.at("transfers_per_memory_clock").get<double>();
    architecture.memory_source = object.at("memory_source").get<std::string>();
    architecture.memory_reachable = object.at("memory_reachable").get<double>();
    architecture.operations_source = object.at("operations_source").get<std::string>();
    architecture.operations_per_clock =
        object.at("operations_per_clock").get<std::map<std::string, double>>();
    const auto caches = [&](const char* name) {
      return object.value(name, std::map<std::string, double>());
    };
    architecture.cache_bytes_per_clock = caches("cache_bytes_per_clock");
    architecture.cache_bytes_per_second = caches("cache_bytes_per_second");
    if (!architecture.cache_bytes_per_clock.empty() || !architecture.cache_bytes_per_second.empty())
      architecture.cache_source = object.at("cache_source").get<std::string>();
    architecture.counters_at_once =
        object.at("counters_at_once").get<std::map<std::string, size_t>>();
    for (const json& metric : object.at("metrics")) {
      architecture.metrics.push_back(
          {metric.at("name").get<std::string>(), metric.at("unit").get<std::string>(),
           metric.at("formula").get<std::string>(), metric.at("about").get<std::string>(),
           metric.at("source").get<std::string>(), metric.value("roofline", "")});
    }
  } catch (const json::exception& problem) {
    return base::Error{fmt::format("{}: {}", file.string(), problem.what())};
  }
  for (const Metric& metric : architecture.metrics) {
    const auto value = Evaluate(metric.formula, {});
    if (!value.ok()) return value.error().In(file.string() + ": " + metric.name);
  }
  return architecture;
}

Peaks PeaksOf(const Device& device, const Architecture& architecture) {
  Peaks peaks;
  for (const auto& [type, per_clock] : architecture.operations_per_clock) {
    if (device.compute_units == 0 || device.clock_mhz == 0) continue;
    peaks.operations[type] = {
        per_clock * device.compute_units * device.clock_mhz * 1e6,
        fmt::format("{} per clock and compute unit ({}) x {} compute units x {} MHz ({})",
                    per_clock, architecture.operations_source, device.compute_units,
                    device.clock_mhz, device.clock_source)};
  }
  for (const auto& [level, per_clock] : architecture.cache_bytes_per_clock) {
    if (device.clock_mhz == 0) continue;
    const double dies = level == "l2" ? device.dies : 1;
    peaks.cache_bytes[level] = {
        per_clock * dies * device.clock_mhz * 1e6,
        fmt::format("{} bytes per clock ({}) x {} x {} MHz ({})", per_clock,
                    architecture.cache_source, dies, device.clock_mhz, device.clock_source)};
  }
  for (const auto& [level, per_second] : architecture.cache_bytes_per_second)
    peaks.cache_bytes[level] = {per_second, architecture.cache_source};
  if (device.memory_clock_mhz != 0 && device.memory_width_bits != 0 &&
      architecture.transfers_per_memory_clock != 0) {
    peaks.memory_bytes =
        Peak{device.memory_clock_mhz * 1e6 * architecture.transfers_per_memory_clock *
                 device.memory_width_bits / 8,
             fmt::format("{} bits x {} MHz ({}) x {} transfers per clock ({})",
                         device.memory_width_bits, device.memory_clock_mhz, device.memory_source,
                         architecture.transfers_per_memory_clock, architecture.memory_source)};
    peaks.memory_bytes->reachable = architecture.memory_reachable;
  }
  return peaks;
}

}  // namespace rochound::profile
