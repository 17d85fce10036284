// SPDX-License-Identifier: MIT
//
// The analyzer `messages`: every access as a line of text, JSON or CSV. Offline, one thread.
#pragma once

#include <cstdio>
#include <string>

#include "probe/analyzer.h"

namespace rochound::probe {

class MessageWriter final : public Analyzer {
 public:
  explicit MessageWriter(const AnalyzerOutput& output);
  void OnAccess(const AccessMessage& message) override;
  void OnBlock(const BlockMessage& message) override;  // not in CSV, whose columns are an access's
  std::string Answer(const StreamSummary& summary) override;
  void OnValue(const ValueMessage& message) override;

 private:
  void WriteJson(const AccessMessage& message);
  void WriteCsv(const AccessMessage& message);
  void WriteIfMuch();
  const std::string& Described(const Site& site);

  std::FILE* out_;
  bool csv_;
  std::string line_;
  // What is said about a place again and again; places live as long as they are read.
  std::string described_;
  const Site* described_site_ = nullptr;
};

}  // namespace rochound::probe
