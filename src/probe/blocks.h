// SPDX-License-Identifier: MIT
//
// The analyzer `blocks`: how often each basic block ran and for how long, with how many of its
// wave's lanes, and at which branches the lanes of a wave went different ways.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "probe/analyzer.h"

namespace rochound::probe {

struct BlockUse {
  std::string kernel, function;
  uint64_t number = 0;  // in its function
  Location at;
  bool branches = false;
  Location branch;
  uint64_t executions = 0;      // by waves
  uint64_t lanes = 0;           // of all executions
  uint64_t possible_lanes = 0;  // that the function had begun with
  uint64_t cycles = 0;
  uint64_t split = 0;  // executions after which lanes went different ways
};

class BlockAnalyzer final : public Analyzer {
 public:
  explicit BlockAnalyzer(const AnalyzerOutput& output) : format_(output.format) {}
  void OnBlock(const BlockMessage& message) override;
  std::string Answer(const StreamSummary& summary) override;
  std::vector<BlockUse> Uses() const;  // the longest first

 private:
  AnswerFormat format_;
  std::map<std::tuple<const Dispatch*, const std::string*, const Site*>, BlockUse> uses_;
};

}  // namespace rochound::probe
