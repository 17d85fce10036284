// SPDX-License-Identifier: MIT
#include "optimize/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.h"

namespace rochound::optimize {
namespace {

using base::Error;
using base::Result;

constexpr size_t kMostPoints = 1'000'000;
constexpr size_t kTries = 1000;

std::string ValueText(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

size_t Space::points() const {
  size_t points = 1;
  for (const Parameter& parameter : parameters) points *= parameter.values.size();
  return points;
}

Result<Space> ReadSpace(const std::filesystem::path& file) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("source") || !json["source"].is_string() ||
      !json.contains("parameters") || !json["parameters"].is_object())
    return Error{
        fmt::format("'{}' is no space: it needs \"source\" and \"parameters\", as "
                    "docs/guides/optimize.md shows",
                    file.string())};
  Space space;
  space.source = file.parent_path() / json["source"].get<std::string>();
  if (json.contains("flags") && json["flags"].is_array())
    for (const auto& flag : json["flags"]) space.flags.push_back(ValueText(flag));
  for (const auto& [name, values] : json["parameters"].items()) {
    Space::Parameter parameter{name, {}};
    if (values.is_array())
      for (const auto& value : values) parameter.values.push_back(ValueText(value));
    if (parameter.values.empty())
      return Error{fmt::format("'{}': parameter {} has no values", file.string(), name)};
    space.parameters.push_back(std::move(parameter));
    if (space.points() > kMostPoints)
      return Error{fmt::format("'{}': more than {} points", file.string(), kMostPoints)};
  }
  return space;
}

std::vector<std::string> FlagsOf(const Space& space, const Point& point) {
  std::vector<std::string> flags;
  for (size_t i = 0; i < space.parameters.size(); ++i) {
    const auto& [name, values] = space.parameters[i];
    const std::string& value = values[point[i]];
    if (name != "flags") {
      flags.push_back(fmt::format("-D{}={}", name, value));
    } else if (!value.empty()) {
      flags.push_back(value);
    }
  }
  return flags;
}

Tuner::Tuner(std::vector<size_t> counts, uint64_t seed, size_t most)
    : counts_(std::move(counts)),
      state_(seed * 2 + 1),
      most_(most),
      starts_(std::max<size_t>(3, most / 5)) {}

uint64_t Tuner::Random() {  // splitmix64
  uint64_t value = state_ += 0x9E3779B97F4A7C15ULL;
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ value >> 27) * 0x94D049BB133111EBULL;
  return value ^ value >> 31;
}

std::optional<Point> Tuner::ByChance() {
  for (size_t i = 0; i < kTries; ++i) {
    Point point;
    for (const size_t count : counts_) point.push_back(Random() % count);
    if (!known_.contains(point)) return point;
  }
  // Nearly everything is known: the first that is not.
  Point point(counts_.size(), 0);
  for (;;) {
    if (!known_.contains(point)) return point;
    size_t axis = 0;
    while (axis < counts_.size() && ++point[axis] == counts_[axis]) point[axis++] = 0;
    if (axis == counts_.size()) return std::nullopt;
  }
}

std::optional<Point> Tuner::Around(const Point& point) {
  std::optional<Point> best;
  size_t distance = 0;
  for (size_t axis = 0; axis < counts_.size(); ++axis) {
    for (size_t value = 0; value < counts_[axis]; ++value) {
      if (value == point[axis]) continue;
      Point other = point;
      other[axis] = value;
      const size_t far = value > point[axis] ? value - point[axis] : point[axis] - value;
      if (known_.contains(other) || (best && distance <= far)) continue;
      best = std::move(other);
      distance = far;
    }
  }
  return best;
}

std::optional<Point> Tuner::Next() {
  if (measured_ >= most_) return std::nullopt;
  if (measured_ < starts_) return ByChance();
  for (const auto& [point, cost] : Best())
    if (auto next = Around(point)) return next;
  return ByChance();
}

void Tuner::Report(const Point& point, std::optional<double> cost, bool measured) {
  known_[point] = cost;
  measured_ += measured ? 1 : 0;
}

std::vector<std::pair<Point, double>> Tuner::Best() const {
  std::vector<std::pair<Point, double>> best;
  for (const auto& [point, cost] : known_)
    if (cost) best.emplace_back(point, *cost);
  std::stable_sort(best.begin(), best.end(),
                   [](const auto& one, const auto& other) { return one.second < other.second; });
  return best;
}

}  // namespace rochound::optimize
