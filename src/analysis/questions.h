// SPDX-License-Identifier: MIT
//
// The questions that can be asked about a trace, by name. A question is one file in questions/: a
// .sql, or a .cpp where rows have to be walked in order. Called by the command line and the report
// on one thread; answers own their data. Errors are of the trace (a table that cannot be read) or
// of the options.
//
// A .sql file is statements that prepare, and then the tables of the answer, each a query after a
// line `-- table: ID | Title`. Lines `-- note: ...` become the answer's notes. Options are DuckDB
// variables: getvariable('limit').
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "analysis/answer.h"
#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::analysis {

struct AskOptions {
  uint64_t limit = 20;  // rows per table; 0: all
  // The ranges that are the steps of a training run or the frames of a renderer.
  std::string step_pattern = R"((?i)^(profilerstep#|step|iteration|iter)[ _#:=]*[0-9]+)";
  // diff: how many of the sources, the first ones, are runs before the change. 0: one of two.
  size_t before_count = 0;
};

struct Question {
  const char* name;
  const char* summary;  // one line for --help
  const char* section;  // of the report that its page is in
  const char* title;    // of that page
  const char* lead;     // what that page is about, in a sentence
  base::Result<Answer> (*ask)(store::TraceDatabase& trace, const AskOptions& options);
};

std::span<const Question> Questions();
const Question* FindQuestion(std::string_view name);

// With the trace's doubts (health.h) in the answer.
base::Result<Answer> Ask(store::TraceDatabase& trace, const Question& question,
                         const AskOptions& options);

// --- for the files in questions/

// The answer of questions/<name>.sql.
base::Result<Answer> AskSql(store::TraceDatabase& trace, std::string_view name,
                            const AskOptions& options);
// Reads a query's rows into a table, the first `limit` of them (0: all).
base::Result<Table> ReadTable(store::duck::Connection& connection, const std::string& sql,
                              const std::string& id, const std::string& title, uint64_t limit);

// The text of questions/<name>.sql; empty: there is none.
std::string_view QuestionText(std::string_view name);

}  // namespace rochound::analysis
