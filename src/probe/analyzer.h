// SPDX-License-Identifier: MIT
//
// What can be made of probes' messages: one analyzer per question, one row of a table each. An
// analyzer receives every message of a stream and then gives its answer: the answer first, then
// what it follows from. Offline, one thread.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/stream.h"

namespace rochound::probe {

enum class AnswerFormat { kTable, kJsonLines, kCsv };

struct AnalyzerOutput {
  std::FILE* file = nullptr;  // stays the caller's; only who writes while messages come needs it
  AnswerFormat format = AnswerFormat::kTable;
  std::filesystem::path code{};  // the program without probes; empty: not given
};

class Analyzer : public Receiver {
 public:
  // After the last message.
  virtual std::string Answer(const StreamSummary& summary) = 0;
  // After that, if its kind draws: an SVG file.
  virtual std::string Picture() const { return {}; }
};

// Which probes send what it asks about.
enum class Needs { kAny, kAccesses, kBlocks };

struct AnalyzerKind {
  const char* name;
  const char* omniprobe_name;  // empty: it has none like this
  const char* answers;
  bool table;  // otherwise a line per message
  Needs needs;
  bool draws;
  bool machine;  // counts accesses as the machine makes them without probes (MachineView)
  std::unique_ptr<Analyzer> (*make)(const AnalyzerOutput& output);
};

std::span<const AnalyzerKind> AnalyzerKinds();
// By either name; null: there is none.
const AnalyzerKind* FindAnalyzer(std::string_view name);

// file:line:column, or what stands for it.
std::string PlaceText(const Location& at);
// The innermost one that is not in a header of HIP or the compiler.
const Location& PlaceOf(const std::vector<Location>& at);
const Location& PlaceOf(const Site& site);
nlohmann::ordered_json PlaceJson(const Location& at);
// A line.
std::string JsonText(const nlohmann::ordered_json& json);
// What an answer begins with if messages are missing that it needs.
std::string DoubtText(const StreamSummary& summary);

}  // namespace rochound::probe
