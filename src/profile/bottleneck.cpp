// SPDX-License-Identifier: MIT
#include "profile/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/files.h"
#include "profile/formula.h"

namespace rochound::profile {
namespace {

using nlohmann::json;
using Rule = BottleneckRules::Rule;
using Condition = BottleneckRules::Condition;

constexpr double kMostOfModel = 0.8;

// Hardware counters are called SQ_WAVES and the like.
bool IsCount(const std::string& name) {
  return name.find('.') != std::string::npos || name == "workgroups" || name == "waves" ||
         name == "exec_splits" || std::isupper(static_cast<unsigned char>(name[0])) != 0;
}

const BottleneckRules::Value* Find(const BottleneckRules& rules, const std::string& name) {
  for (const BottleneckRules::Value& value : rules.values)
    if (value.name == name) return &value;
  return nullptr;
}

bool IsModelled(const BottleneckRules& rules, const std::string& name) {
  const BottleneckRules::Value* const value = Find(rules, name);
  return value != nullptr ? value->modelled : name.starts_with("model.");
}

// How far the value is on the right side of the limit: 1 at it, 2 for twice as much; below 1 on the
// wrong side. Nothing: the value is not known.
std::optional<double> Margin(const Condition& condition, const Values& values) {
  const auto found = values.find(condition.value);
  if (found == values.end()) return std::nullopt;
  const double over = condition.at_least ? found->second : condition.limit;
  const double under = condition.at_least ? condition.limit : found->second;
  if (under > 0) return over / under;
  return over >= under ? std::numeric_limits<double>::infinity() : 0;
}

// The least of a rule's margins; below 1, or nothing: it does not hold.
std::optional<double> Margin(const Rule& rule, const Values& values) {
  double least = std::numeric_limits<double>::infinity();
  for (const Condition& condition : rule.when) {
    const std::optional<double> margin = Margin(condition, values);
    if (!margin) return std::nullopt;
    least = std::min(least, *margin);
  }
  return least;
}

// None after a rule that cannot be told: it might be the one.
const Rule* FirstThatHolds(const BottleneckRules& rules, const Values& values, size_t from) {
  for (size_t i = from; i < rules.rules.size(); ++i) {
    const std::optional<double> margin = Margin(rules.rules[i], values);
    if (!margin) return nullptr;
    if (*margin >= 1) return &rules.rules[i];
  }
  return nullptr;
}

std::string AboutOf(const BottleneckRules& rules, const std::string& name) {
  const BottleneckRules::Value* const value = Find(rules, name);
  return value == nullptr ? "" : value->about;
}

}  // namespace

base::Result<BottleneckRules> LoadBottleneckRules(const std::filesystem::path& file) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
  const json object = json::parse(text, nullptr, false);
  if (object.is_discarded()) return base::Error{file.string() + " is no JSON"};
  BottleneckRules rules;
  try {
    for (const json& one : object.at("values")) {
      BottleneckRules::Value value{one.at("name").get<std::string>(),
                                   one.at("formula").get<std::string>(),
                                   one.at("about").get<std::string>()};
      // Without values everything that a formula names is missing.
      const auto names = Evaluate(value.formula, {});
      if (!names.ok()) return names.error().In(file.string() + ": " + value.name);
      for (const std::string& name : names.value().missing) {
        if (Find(rules, name) == nullptr && !IsCount(name)) {
          return base::Error{fmt::format("{}: {} asks for {}, which is no value before it",
                                         file.string(), value.name, name)};
        }
        value.modelled = value.modelled || IsModelled(rules, name);
      }
      rules.values.push_back(std::move(value));
    }
    for (const json& one : object.at("rules")) {
      Rule rule{one.at("class").get<std::string>(),
                {},
                one.at("evidence").get<std::vector<std::string>>(),
                one.at("change").get<std::string>()};
      for (const json& when : one.at("when")) {
        const bool at_least = when.contains("at_least");
        rule.when.push_back({when.at("value").get<std::string>(), at_least,
                             when.at(at_least ? "at_least" : "at_most").get<double>()});
        if (Find(rules, rule.when.back().value) == nullptr) {
          return base::Error{fmt::format("{}: the rule for {} asks for {}, which is no value",
                                         file.string(), rule.name, rule.when.back().value)};
        }
      }
      rules.rules.push_back(std::move(rule));
    }
  } catch (const json::exception& problem) {
    return base::Error{fmt::format("{}: {}", file.string(), problem.what())};
  }
  return rules;
}

Bottleneck Judge(const BottleneckRules& rules, const Values& values) {
  Values all = values;
  std::set<std::string> missing;
  for (const BottleneckRules::Value& value : rules.values) {
    const auto found = Evaluate(value.formula, all);
    if (!found.ok()) continue;  // the rules were loaded, so it is none
    if (found.value().value) all[value.name] = *found.value().value;
    for (const std::string& name : found.value().missing)
      if (Find(rules, name) == nullptr) missing.insert(name);
  }
  Bottleneck verdict;
  const Rule* const rule = FirstThatHolds(rules, all, 0);
  if (rule == nullptr) {
    for (const std::string& name : missing) verdict.reasoning.push_back("missing: " + name);
    verdict.reasoning.emplace_back("no rule holds");
    return verdict;
  }
  verdict.primary = rule->name;
  const double margin = Margin(*rule, all).value_or(1);
  verdict.confidence = 1 - 0.5 / margin;
  const Condition* tightest = nullptr;
  for (const Condition& condition : rule->when) {
    const double value = all.at(condition.value);
    verdict.reasoning.push_back(fmt::format("{} is {:.3g}, {} {:g}: {}", condition.value, value,
                                            condition.at_least ? "at least" : "at most",
                                            condition.limit, AboutOf(rules, condition.value)));
    verdict.evidence.push_back({condition.value, value, AboutOf(rules, condition.value),
                                IsModelled(rules, condition.value)});
    if (tightest == nullptr || Margin(condition, all) < Margin(*tightest, all))
      tightest = &condition;
    if (IsModelled(rules, condition.value))
      verdict.confidence = std::min(verdict.confidence, kMostOfModel);
  }
  for (const std::string& name : rule->evidence) {
    const auto found = all.find(name);
    if (found == all.end()) continue;
    verdict.evidence.push_back(
        {name, found->second, AboutOf(rules, name), IsModelled(rules, name)});
  }
  const Rule* const next =
      FirstThatHolds(rules, all, static_cast<size_t>(rule - rules.rules.data()) + 1);
  verdict.changes.push_back(rule->change);
  if (tightest != nullptr) {
    verdict.changes.push_back(fmt::format(
        "{} {} {:g}, where it is {:.3g} now: then {}", tightest->value,
        tightest->at_least ? "below" : "above", tightest->limit, all.at(tightest->value),
        next == nullptr            ? "no rule holds"
        : next->name == rule->name ? "it would still be " + next->name
                                   : "it would be " + next->name));
  }
  return verdict;
}

base::Result<std::vector<KernelAnalysis>> FindBottlenecks(const CounterSet& set,
                                                          const Device& device, const Peaks& peaks,
                                                          const std::vector<Metric>& metrics,
                                                          const BottleneckRules& rules) {
  using Shape = std::tuple<std::string, std::array<uint64_t, 3>, std::array<uint64_t, 3>>;
  std::map<Shape, size_t> numbers;
  std::vector<KernelAnalysis> kernels;
  std::vector<std::map<std::string, std::pair<double, uint64_t>>> sums;  // and how many have it
  for (const Launch& launch : set.launches) {
    const auto [found, is_new] =
        numbers.try_emplace({launch.kernel, launch.grid, launch.workgroup}, kernels.size());
    if (is_new) {
      kernels.push_back({launch.kernel, launch.grid, launch.workgroup, 0, {}});
      sums.emplace_back();
    }
    ++kernels[found->second].launches;
    const auto add = [&](const std::string& name, double value) {
      auto& sum = sums[found->second][name];
      sum.first += value;
      ++sum.second;
    };
    for (const auto& [name, value] : launch.exact) add(name, value);
    for (const auto& [name, value] : launch.modelled) add("model." + name, value);
    if (launch.nanoseconds.has_value())
      add("launch.seconds", launch.nanoseconds.value_or(0) * 1e-9);
    double groups = 1;
    for (size_t i = 0; i < 3; ++i) {
      if (launch.workgroup[i] == 0) continue;
      groups *=
          std::ceil(static_cast<double>(launch.grid[i]) / static_cast<double>(launch.workgroup[i]));
    }
    add("launch.workgroups", groups);
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    Values values;
    for (const auto& [name, sum] : sums[i]) {
      // What a launch lacks is missing.
      if (sum.second == kernels[i].launches)
        values[name] = sum.first / static_cast<double>(sum.second);
    }
    const auto fact = [&](const char* name, double value) {
      if (value > 0) values[name] = value;
    };
    fact("device.compute_units", device.compute_units);
    fact("device.hertz", device.clock_mhz * 1e6);
    fact("device.simds_per_unit", device.simds_per_unit);
    fact("device.waves_per_simd", device.waves_per_simd);
    const Peak memory = peaks.memory_bytes.value_or(Peak{});
    fact("device.bytes_per_second", memory.per_second);
    fact("device.reachable_bytes_per_second", memory.per_second * memory.reachable);
    Values of_metrics;
    for (const Metric& metric : metrics) {
      ROCHOUND_TRY(const FormulaValue value, Evaluate(metric.formula, values));
      if (value.value) of_metrics["metric." + metric.name] = *value.value;
    }
    values.merge(of_metrics);
    kernels[i].bottleneck = Judge(rules, values);
  }
  return kernels;
}

}  // namespace rochound::profile
