// SPDX-License-Identifier: MIT
//
// Answers as lines of text, for comparison in tests, and a trace that several tests ask.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "analysis/questions.h"
#include "analysis/test_trace.h"

namespace rochound::analysis {

using Lines = std::vector<std::string>;

inline std::string Text(const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return "-";
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const std::string digits = std::to_string(std::get<double>(value));
  return digits.substr(0, digits.find('.') + 2);
}

// A table of the answer, "a|b|c" per row.
inline Lines Ask(store::TraceDatabase& database, const std::string& question,
                 const std::string& table, const AskOptions& options = {}) {
  const Question* const found = FindQuestion(question);
  if (found == nullptr) return {"no question " + question};
  const auto answer = Ask(database, *found, options);
  if (!answer.ok()) return {answer.error().message};
  for (const Table& one : answer.value().tables) {
    if (one.id != table) continue;
    Lines lines;
    for (const std::vector<Value>& row : one.rows) {
      std::string& line = lines.emplace_back();
      for (const Value& value : row) line += (line.empty() ? "" : "|") + Text(value);
      EXPECT_EQ(row.size(), one.columns.size());
    }
    return lines;
  }
  return {"no table " + table};
}

// One thread, two streams with a queue each; see the comments for what happens when.
inline TestTrace TwoQueues() {
  TestTrace trace;
  const auto launch = [&](int64_t start, int64_t end, const char* stream) {
    return trace.Call({.start = start, .end = end, .stream = stream});
  };
  trace.Call({.start = 0, .end = 10, .name = "hipStreamCreate"});
  trace.Kernel(
      {.start = 30, .end = 100, .name = "A", .call = launch(12, 20, "0x51"), .submit = 15});
  trace.Kernel(
      {.start = 100, .end = 130, .name = "B", .call = launch(22, 28, "0x51"), .submit = 25});
  trace.Call({.start = 40, .end = 140, .name = "hipDeviceSynchronize"});
  trace.Kernel(
      {.start = 180, .end = 200, .name = "C", .call = launch(160, 170, "0x51"), .submit = 166});
  trace.Call({.start = 171, .end = 172, .name = "hipEventRecord", .args = "event=0xe|stream=0x51"});
  trace.Call({.start = 173,
              .end = 174,
              .name = "hipStreamWaitEvent",
              .args = "stream=0x52|event=0xe|flags=0"});
  trace.Kernel({.queue = 1,
                .start = 210,
                .end = 230,
                .name = "D",
                .call = launch(175, 178, "0x52"),
                .submit = 177});
  trace.Kernel(
      {.start = 200, .end = 203, .name = "E", .call = launch(182, 190, "0x51"), .submit = 188});
  trace.Kernel(
      {.start = 215, .end = 240, .name = "F", .call = launch(202, 212, "0x51"), .submit = 210});
  trace.Call({.start = 235, .end = 250, .name = "hipGetLastError"});
  trace.Call({.tid = 9, .start = 0, .end = 1000, .name = "drain", .domain = "rochound"});
  return trace;
}

}  // namespace rochound::analysis
