// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "profile/counter_source.h"

namespace rochound::profile {
namespace {

using nlohmann::json;

constexpr std::string_view kIdentity[] = {"process", "order",  "gpu",  "gpu_id",    "target",
                                          "queue",   "kernel", "grid", "workgroup", "completed"};

// Numbers by their path: operations.vector.f32.add.
void Flatten(const json& object, const std::string& prefix, Values* values) {
  for (const auto& [key, value] : object.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object()) {
      Flatten(value, path, values);
    } else if (value.is_number()) {
      values->insert_or_assign(path, value.get<double>());
    }
  }
}

base::Result<Launch> ParseLine(const std::string& line) {
  json record = json::parse(line, nullptr, false);
  if (!record.is_object()) return base::Error{"is no JSON object"};
  Launch launch;
  try {
    launch.kernel = record.at("kernel").get<std::string>();
    launch.gpu = record.at("gpu").get<std::string>();
    launch.target = record.at("target").get<std::string>();
    launch.process = record.at("process").get<uint64_t>();
    launch.order = record.at("order").get<uint64_t>();
    launch.completed = record.at("completed").get<bool>();
    launch.grid = record.at("grid").get<std::array<uint64_t, 3>>();
    launch.workgroup = record.at("workgroup").get<std::array<uint64_t, 3>>();
    Flatten(record.at("model"), "", &launch.modelled);
  } catch (const json::exception& problem) {
    return base::Error{problem.what()};
  }
  record.erase("model");
  record.erase("occupancy");  // modelled too, for thread traces
  for (std::string_view key : kIdentity) record.erase(std::string(key));
  Flatten(record, "", &launch.exact);
  if (launch.kernel.ends_with(".kd")) launch.kernel.resize(launch.kernel.size() - 3);
  return launch;
}

class SoftgpuSource final : public CounterSource {
 public:
  explicit SoftgpuSource(std::filesystem::path file) : file_(std::move(file)) {}

  base::Result<CounterSet> Read() const override {
    ROCHOUND_TRY(const std::string text, base::ReadFile(file_, base::kMostText));
    CounterSet set;
    set.source = "the software GPU's counters";
    size_t number = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      ++number;
      if (end == std::string::npos) {  // a line is written in one piece: somebody cut the file
        set.warnings.push_back(
            fmt::format("{}: the last line is not whole and was left out", file_.string()));
        break;
      }
      auto launch = ParseLine(text.substr(at, end - at));
      if (!launch.ok()) return launch.error().In(fmt::format("{} line {}", file_.string(), number));
      set.launches.push_back(std::move(launch).value());
      at = end + 1;
    }
    size_t unfinished = 0;
    for (const Launch& launch : set.launches) unfinished += launch.completed ? 0 : 1;
    if (unfinished != 0)
      set.warnings.push_back(
          fmt::format("{} launches did not end well; their counts are those up "
                      "to that moment",
                      unfinished));
    return set;
  }

 private:
  std::filesystem::path file_;
};

}  // namespace

std::unique_ptr<CounterSource> SoftgpuCounters(std::filesystem::path file) {
  return std::make_unique<SoftgpuSource>(std::move(file));
}

}  // namespace rochound::profile
