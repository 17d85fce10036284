// SPDX-License-Identifier: MIT
//
// The analyzer `report`: lines of the source and the instructions that access memory for them, with
// what both cost, or all instructions where another build of the program has them without probes
// (plain_code.h), and the heat map; one JSON object, which `rochound report --probe` shows
// (docs/formats/probe-report.md). Texts of the source are read from where the compiler read them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "probe/analyzer.h"
#include "probe/heatmap.h"
#include "probe/memory_use.h"

namespace rochound::probe {

class SourceView final : public Analyzer {
 public:
  explicit SourceView(const AnalyzerOutput& output) : heatmap_(output), code_(output.code) {}
  void OnAccess(const AccessMessage& message) override;
  std::string Answer(const StreamSummary& summary) override;

 private:
  HeatmapAnalyzer heatmap_;
  std::filesystem::path code_;
  std::map<std::string, std::string> targets_;  // of kernels
  struct Instruction {
    Site site;  // a copy: the reader's own does not live until the answer
    MemoryAnalyzer memory;
  };
  // By kernel and site, which is one instruction's alone (MachineView).
  std::map<std::pair<std::string, const Site*>, std::unique_ptr<Instruction>> instructions_;
};

}  // namespace rochound::probe
