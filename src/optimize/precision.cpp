// SPDX-License-Identifier: MIT
#include "optimize/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "capture/replay/elements.h"

namespace rochound::optimize {
namespace {

namespace fs = std::filesystem;
namespace replay = capture::replay;
using base::Result;
using nlohmann::ordered_json;

constexpr double kWorse = 2;
constexpr double kRounding = 1.2e-7;  // of a float: what nobody can avoid

double WorstError(const std::vector<double>& reference, const std::vector<double>& values) {
  double largest = 0, worst = 0;
  for (const double value : reference)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  if (largest == 0) largest = 1;
  for (size_t i = 0; i < std::min(reference.size(), values.size()); ++i) {
    if (!std::isfinite(reference[i]) && !std::isfinite(values[i])) continue;
    const double error = std::abs(values[i] - reference[i]) / largest;
    worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
  }
  return worst;
}

}  // namespace

Result<Outputs> ReadOutputs(const fs::path& folder, const std::string& as) {
  Outputs outputs;
  ROCHOUND_TRY(const std::string text, base::ReadFile(folder / "outputs.json", base::kMostText));
  const auto list = ordered_json::parse(text, nullptr, false);
  if (!list.is_array()) return base::Error{"outputs.json is no list"};
  for (const ordered_json& one : list) {
    ROCHOUND_TRY(const std::string bytes, base::ReadFile(folder / one.value("file", "")));
    for (const ordered_json& span : one["arguments"]) {
      auto type = replay::FloatingNamed(span.value("type", ""));
      if (type == replay::Element::kUnknown && span.value("type", "") == "bytes")
        type = replay::FloatingNamed(as);
      const size_t size = replay::SizeOf(type);
      const size_t from = span.value("offset", size_t{0});
      const size_t to = std::min(bytes.size(), from + span.value("bytes", size_t{0}));
      if (type == replay::Element::kUnknown) continue;
      auto& values =
          outputs[fmt::format("{} {}", one.value("file", ""), span.value("argument", ""))];
      for (size_t at = from; at + size <= to; at += size)
        values.push_back(replay::ValueOf(
            type, reinterpret_cast<const std::byte*>(bytes.data()) + at));  // NOLINT
    }
  }
  return outputs;
}

PrecisionErrors CompareWith(const Outputs& reference, const Outputs& original,
                            const Outputs& candidate) {
  PrecisionErrors errors;
  for (const auto& [name, values] : reference) {
    const auto one = original.find(name), other = candidate.find(name);
    if (one == original.end() || other == candidate.end()) continue;
    errors.original = std::max(errors.original, WorstError(values, one->second));
    errors.candidate = std::max(errors.candidate, WorstError(values, other->second));
  }
  return errors;
}

bool IsLessPrecise(const PrecisionErrors& errors) {
  return errors.candidate > kWorse * errors.original + kRounding;
}

}  // namespace rochound::optimize
