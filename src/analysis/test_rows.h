// SPDX-License-Identifier: MIT
//
// Answers as lines of text, for tests that compare them with what was worked out by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "analysis/questions.h"
#include "analysis/test_trace.h"

namespace rochound::analysis {

inline std::string Cell(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", *real);
    return text;
  }
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "-";
}

using Lines = std::vector<std::string>;

// A table as lines of cells, its columns first.
inline Lines Rows(const Answer& answer, const std::string& id) {
  for (const Table& table : answer.tables) {
    if (table.id != id) continue;
    Lines lines(1);
    for (const Column& column : table.columns)
      lines[0] += (lines[0].empty() ? "" : " ") + column.name;
    for (const auto& row : table.rows) {
      std::string line;
      for (const Value& value : row) line += (line.empty() ? "" : " ") + Cell(value);
      lines.push_back(line);
    }
    return lines;
  }
  return {"no table " + id};
}

inline Answer AnswerTo(store::TraceDatabase& trace, const std::string& name) {
  const Question* question = FindQuestion(name);
  EXPECT_NE(question, nullptr) << name;
  auto answer = Ask(trace, *question, {.limit = 0});
  EXPECT_TRUE(answer.ok()) << answer.error().message;
  return answer.ok() ? std::move(answer).value() : Answer{};
}

inline Answer AnswerTo(const TestTrace& trace, const std::string& name) {
  store::TraceDatabase database = trace.Open();
  return AnswerTo(database, name);
}

}  // namespace rochound::analysis
