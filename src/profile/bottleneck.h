// SPDX-License-Identifier: MIT
//
// What limits a kernel, by rules that are data (bottleneck.json for what a software GPU counts,
// bottleneck-counters.json for hardware counters; installed with rochound): values made of counts
// and of facts about the device, and rules that compare them with limits. Every verdict has the
// figures that led to it, and what would change it. Offline; pure functions.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profile/architecture.h"

namespace rochound::profile {

struct BottleneckRules {
  struct Value {
    std::string name, formula, about;
    bool modelled = false;  // it, or a value in it, is of the software GPU's model
  };
  struct Condition {
    std::string value;
    bool at_least = true;  // otherwise at most
    double limit = 0;
  };
  struct Rule {
    std::string name;  // of the class
    std::vector<Condition> when;
    std::vector<std::string> evidence;  // names of values and counts
    std::string change;
  };
  std::vector<Value> values;
  std::vector<Rule> rules;
};

// An error if a formula is wrong, or a rule asks for a value that there is not.
base::Result<BottleneckRules> LoadBottleneckRules(const std::filesystem::path& file);

struct Evidence {
  std::string name;
  double value = 0;
  std::string about;  // "" for counts and facts
  bool modelled = false;
};

struct Bottleneck {
  std::string primary = "unknown";
  double confidence = 0;  // 0.5 at a limit, 1 far from all; not above 0.8 where a model decided
  std::vector<std::string> reasoning;  // a line per condition
  std::vector<Evidence> evidence;
  std::vector<std::string> changes;  // what would change the verdict
};

// values: counts, and what begins with "model.", "device.", "launch." or "metric.".
Bottleneck Judge(const BottleneckRules& rules, const Values& values);

// Launches of one kernel with one shape: the mean of them.
struct KernelAnalysis {
  std::string kernel;
  std::array<uint64_t, 3> grid{}, workgroup{};
  uint64_t launches = 0;
  Bottleneck bottleneck;
};

// In the order of their first launch. metrics: of hardware counters.
base::Result<std::vector<KernelAnalysis>> FindBottlenecks(const CounterSet& set,
                                                          const Device& device, const Peaks& peaks,
                                                          const std::vector<Metric>& metrics,
                                                          const BottleneckRules& rules);

}  // namespace rochound::profile
