// SPDX-License-Identifier: MIT
//
// The answer to a question about a trace: a few tables, and what has to be known before they are
// believed. Made by questions.h, shown by the command line and the report; plain data.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace rochound::analysis {

// What a number is. A column's name tells it by its ending: _ns, _bytes, _percent, _bytes_per_s.
enum class Unit { kNone, kNanoseconds, kBytes, kPercent, kBytesPerSecond };

struct Column {
  std::string name;
  bool number = false;
  Unit unit = Unit::kNone;
};

// Made from the name of a column, as questions name them.
Column MakeColumn(const std::string& name, bool number);

// A trace of several nodes numbers processes, threads and GPUs in steps of a stride per node
// (store/trace_tables.h): "rank 1: 4711". Empty: this is not such a number.
std::string NodeText(const Column& column, int64_t number);

using Value = std::variant<std::monostate, int64_t, double, std::string>;  // monostate: not known

struct Table {
  std::string id;  // a word, unique within the answer
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;
  uint64_t more = 0;  // rows that were left out
};

struct Answer {
  std::string question;
  std::vector<std::string> doubts;  // what the trace is missing or is not sure of, worst first
  std::vector<std::string> notes;   // how to read the tables
  std::vector<Table> tables;
};

}  // namespace rochound::analysis
