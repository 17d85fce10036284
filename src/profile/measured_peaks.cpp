// SPDX-License-Identifier: MIT
#include "profile/measured_peaks.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/printable.h"

namespace rochound::profile {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kFormat = "rochound peaks";
constexpr const char* kOfHost =
    "measured on a software GPU: this is the speed of its host, not a GPU's peak";

// Throws as json does.
void ReadMeasurements(const json& list, MeasuredPeaks* measured) {
  for (const json& one : list) {
    const auto kind = one.at("kind").get<std::string>();
    auto& those = kind == "bytes" ? measured->bytes : measured->operations;
    those[one.at("name").get<std::string>()] = {one.at("count").get<double>(),
                                                one.at("seconds").get<double>()};
  }
}

base::Result<void> CheckMeasurements(const MeasuredPeaks& measured) {
  for (const auto* those : {&measured.operations, &measured.bytes}) {
    for (const auto& [name, one] : *those) {
      if (!(one.count > 0 && one.seconds > 0) || !std::isfinite(one.PerSecond()))
        return base::Error{fmt::format("{} has no speed", name)};
    }
  }
  if (measured.operations.empty() && measured.bytes.empty())
    return base::Error{"nothing was measured"};
  return {};
}

void Use(const Measurement& one, const std::string& source, Peak* peak) {
  Peak used{one.PerSecond(), source, true, std::nullopt};
  if (peak->per_second > 0) used.from_table = peak->per_second;
  *peak = std::move(used);
}

}  // namespace

base::Result<MeasuredPeaks> ParseMeasurements(const std::string& text, const std::string& target,
                                              bool software_gpu) {
  MeasuredPeaks measured;
  measured.target = target;
  measured.software_gpu = software_gpu;
  const json object = json::parse(text, nullptr, false);
  try {
    measured.device = object.at("device").get<std::string>();
    measured.compute_units = object.at("compute_units").get<uint64_t>();
    ReadMeasurements(object.at("measurements"), &measured);
  } catch (const json::exception& problem) {
    return base::Error{
        fmt::format("the measuring program did not say what it measured: {}", problem.what())};
  }
  ROCHOUND_CHECK(CheckMeasurements(measured));
  return measured;
}

std::string MeasuredPeaksJson(const MeasuredPeaks& measured) {
  ordered_json file = {{"format", kFormat},
                       {"version", 1},
                       {"device", measured.device},
                       {"target", measured.target},
                       {"compute_units", measured.compute_units},
                       {"software_gpu", measured.software_gpu},
                       {"warnings", ordered_json::array()},
                       {"measurements", ordered_json::array()}};
  if (measured.software_gpu) file["warnings"].push_back(kOfHost);
  const auto add = [&](const std::map<std::string, Measurement>& those, const char* kind) {
    for (const auto& [name, one] : those) {
      file["measurements"].push_back({{"name", name},
                                      {"kind", kind},
                                      {"count", one.count},
                                      {"seconds", one.seconds},
                                      {"per_second", one.PerSecond()}});
    }
  };
  add(measured.operations, "operations");
  add(measured.bytes, "bytes");
  return file.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

base::Result<MeasuredPeaks> LoadMeasuredPeaks(const std::filesystem::path& file) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
  const json object = json::parse(text, nullptr, false);
  MeasuredPeaks measured;
  try {
    if (object.at("format") != kFormat || object.at("version") != 1) {
      return base::Error{
          fmt::format("{} is no peaks.json of this rochound; rochound profile --measure-peaks "
                      "writes it",
                      file.string())};
    }
    measured.device = object.at("device").get<std::string>();
    measured.target = object.at("target").get<std::string>();
    measured.compute_units = object.at("compute_units").get<uint64_t>();
    measured.software_gpu = object.at("software_gpu").get<bool>();
    ReadMeasurements(object.at("measurements"), &measured);
  } catch (const json::exception& problem) {
    return base::Error{fmt::format("{} is no peaks.json: {}", file.string(), problem.what())};
  }
  const auto checked = CheckMeasurements(measured);
  if (!checked.ok()) return checked.error().In(file.string());
  return measured;
}

base::Result<void> UseMeasuredPeaks(const MeasuredPeaks& measured, const Device& device,
                                    Peaks* peaks, std::vector<std::string>* warnings) {
  if (measured.target != device.target) {
    return base::Error{
        fmt::format("the peaks were measured on {} ({}), and these kernels are of "
                    "{}",
                    measured.device, measured.target, device.target)};
  }
  if (measured.software_gpu) {
    warnings->push_back(fmt::format("the peaks of --peaks are not used: {}", kOfHost));
    return {};
  }
  if (static_cast<double>(measured.compute_units) != device.compute_units) {
    warnings->push_back(
        fmt::format("the peaks were measured on {} with {} compute units, and {} has {}",
                    measured.device, measured.compute_units, device.name, device.compute_units));
  }
  const std::string source = "measured on " + measured.device;
  for (const auto& [type, one] : measured.operations) Use(one, source, &peaks->operations[type]);
  for (const auto& [level, one] : measured.bytes) {
    if (level != "memory") {
      Use(one, source, &peaks->cache_bytes[level]);
      continue;
    }
    Peak memory = peaks->memory_bytes.value_or(Peak{});
    Use(one, source, &memory);
    peaks->memory_bytes = std::move(memory);
  }
  return {};
}

std::string MeasuredPeaksPage(const MeasuredPeaks& measured, const Peaks& table) {
  std::string page = fmt::format("{} ({}), {} compute units\n", base::Printable(measured.device),
                                 measured.target, measured.compute_units);
  if (measured.software_gpu) page += fmt::format("Note: {}\n", kOfHost);
  const auto line = [&](const std::string& name, const Measurement& one, const Peak* known,
                        const char* unit) {
    page += fmt::format("  {:<12} {:>10.4g} {}", name, one.PerSecond(), unit);
    if (known != nullptr && known->per_second > 0) {
      page += fmt::format(", {:.0f}% of {:.4g} from the table",
                          100 * one.PerSecond() / known->per_second, known->per_second);
    }
    page += "\n";
  };
  const auto find = [](const std::map<std::string, Peak>& peaks, const std::string& name) {
    const auto found = peaks.find(name);
    return found == peaks.end() ? nullptr : &found->second;
  };
  for (const auto& [name, one] : measured.bytes) {
    line(name, one,
         name != "memory"     ? find(table.cache_bytes, name)
         : table.memory_bytes ? &*table.memory_bytes
                              : nullptr,
         "bytes/s");
  }
  for (const auto& [name, one] : measured.operations)
    line(name, one, find(table.operations, name), "operations/s");
  return page;
}

}  // namespace rochound::profile
