// SPDX-License-Identifier: MIT
#include "profile/counter_plan.h"

#include <algorithm>
#include <cctype>

#include "profile/formula.h"

namespace rochound::profile {
namespace {

void AddCounters(const std::string& formula, std::set<std::string>* counters) {
  // Without values everything that a formula names is missing.
  const auto names = Evaluate(formula, {});
  if (!names.ok()) return;  // the files were loaded, so it is none
  for (const std::string& name : names.value().missing)
    if (std::isupper(static_cast<unsigned char>(name[0])) != 0) counters->insert(name);
}

}  // namespace

std::set<std::string> WantedCounters(const BottleneckRules& rules,
                                     const Architecture& architecture) {
  std::set<std::string> counters;
  for (const BottleneckRules::Value& value : rules.values) AddCounters(value.formula, &counters);
  for (const Metric& metric : architecture.metrics) AddCounters(metric.formula, &counters);
  // Those of another architecture's blocks cannot be had.
  std::erase_if(counters, [&](const std::string& name) {
    return !architecture.counters_at_once.contains(name.substr(0, name.find('_')));
  });
  return counters;
}

std::vector<std::vector<std::string>> PlanPasses(const std::set<std::string>& counters,
                                                 const Architecture& architecture) {
  std::vector<std::vector<std::string>> passes;
  std::map<std::string, size_t> used;  // of each block, so far
  for (const std::string& name : counters) {
    const std::string block = name.substr(0, name.find('_'));
    const auto known = architecture.counters_at_once.find(block);
    const size_t at_once = known == architecture.counters_at_once.end() ? 1 : known->second;
    const size_t pass = used[block]++ / std::max<size_t>(1, at_once);
    if (pass >= passes.size()) passes.resize(pass + 1);
    passes[pass].push_back(name);
  }
  return passes;
}

}  // namespace rochound::profile
