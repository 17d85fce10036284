// SPDX-License-Identifier: MIT
//
// Answers as text: tables for a terminal, JSON and CSV for programs. Called by the command line on
// one thread; returns text, prints nothing.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/answer.h"

namespace rochound::report {

struct TextStyle {
  size_t width = 0;  // of the terminal; names are shortened to it. 0: as long as they are
  bool colour = false;
  bool verbatim = false;  // columns are named and numbers written as they are
};

// A number with its unit, as people read it: 12.3 us, 4.0 MiB, 17.2%.
std::string HumanValue(const analysis::Column& column, const analysis::Value& value);

// A name of C++ as codeobj::ShortKernelName has it; of others the start and the end.
std::string ShortName(const std::string& text, size_t width);

// What is not clean comes first.
std::string AnswerText(const analysis::Answer& answer, const TextStyle& style);
std::string DoubtsText(const std::vector<std::string>& doubts, const TextStyle& style);
std::string TableText(const analysis::Table& table, const TextStyle& style);

// {"question":..., "doubts":[...], "notes":[...], "tables":{id:{"title":..., "more":0,
// "rows":[{column:value}]}}}
nlohmann::ordered_json AnswerAsJson(const analysis::Answer& answer);
std::string AnswerJson(const analysis::Answer& answer);

// A table after the other, each after a line with the names of its columns; an empty line between.
// Doubts are not part of it: the caller shows them elsewhere.
std::string AnswerCsv(const analysis::Answer& answer);

}  // namespace rochound::report
