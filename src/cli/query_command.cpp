// SPDX-License-Identifier: MIT
#include "cli/query_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "analysis/health.h"
#include "analysis/questions.h"
#include "base/exit_codes.h"
#include "base/log.h"
#include "cli/usage_formatter.h"
#include "report/text.h"
#include "store/open/sql_dialect.h"

namespace rochound::cli {
namespace {

enum class Form { kText, kJson, kCsv };

// Doubts go to stderr: the answer's shape is the query's own.
base::Result<void> Answer(store::TraceDatabase& trace, const std::string& sql, Form form,
                          uint64_t limit) {
  analysis::Answer answer;
  ROCHOUND_TRY(analysis::Table table,
               analysis::ReadTable(trace.connection(), store::QuoteEnd(sql), "rows", "", limit));
  answer.question = sql;
  answer.tables.push_back(std::move(table));
  if (form == Form::kJson) {
    fmt::print("{}", report::AnswerJson(answer));
  } else if (form == Form::kCsv) {
    fmt::print("{}", report::AnswerCsv(answer));
  } else {
    report::TextStyle style = TerminalStyle();
    style.verbatim = true;
    if (isatty(STDOUT_FILENO) != 1) style.width = 0;
    const std::string text = report::TableText(answer.tables[0], style);
    fmt::print("{}", text.substr(text.find('\n') + 1));
  }
  return {};
}

base::Error WithHint(const base::Error& error) {
  if (error.message.find("must appear in the GROUP BY") == std::string::npos) return error;
  return base::Error{error.message +
                     "\n(SQLite picks any row's value here; say any_value(column), or ask the .rpd "
                     "with sqlite3)"};
}

void PrintDoubts(store::TraceDatabase& trace) {
  const auto doubts = analysis::Doubts(trace);
  if (doubts.ok()) fmt::print(stderr, "{}", report::DoubtsText(doubts.value(), {}));
}

}  // namespace

QueryCommand::QueryCommand(CLI::App& app)
    : Command(app.add_subcommand("query", "Ask a trace in SQL")) {
  UsageFormatter::Set(*subcommand_, "rochound query TRACE... \"SELECT ...\" [OPTIONS]");
  trace_.AddTo(*subcommand_, "Traces, and last the query");
  subcommand_->add_flag("--json", json_, "Print one JSON object");
  subcommand_->add_flag("--csv", csv_, "Print comma-separated values");
  subcommand_
      ->add_option("--limit", limit_, "So many rows at most; 0 for all, which is the default")
      ->type_name("ROWS");
}

const char* QueryCommand::examples() const {
  return R"(
Tables and views are RPD's, whatever the trace's format: api, op, kernel, copy, copyop, busy, top, rocpd_*, and
rochound's own (docs/formats/trace.md). The engine is DuckDB. Queries written for an .rpd and SQLite work, but for
columns beside GROUP BY that are neither grouped nor summed: any_value(column) there.

Examples:
  rochound query trace.rpd "select * from top"
  rochound query trace.rpd "select kernelName, count(*), avg(end - start) from kernel group by kernelName"
  rochound query run.parquet "select * from api where apiName like 'hipMemcpy%' limit 10" --csv
)";
}

int QueryCommand::Run(const std::vector<std::string>& /*program*/) {
  std::vector<std::string> traces = trace_.traces();
  if (traces.size() < 2) {
    base::LogError(
        "a trace and a query are needed: rochound query trace.rpd \"select * from top\"");
    return base::kExitUsage;
  }
  const std::string sql = traces.back();
  traces.pop_back();
  auto trace = trace_.OpenWithViews(traces);
  if (!trace.ok()) return Failed(trace.error());
  PrintDoubts(trace.value());
  const Form form = json_ ? Form::kJson : csv_ ? Form::kCsv : Form::kText;
  const auto done = Answer(trace.value(), sql, form, limit_);
  return done.ok() ? base::kExitSuccess : Failed(WithHint(done.error()));
}

ShellCommand::ShellCommand(CLI::App& app)
    : Command(app.add_subcommand("shell", "Ask a trace in SQL, line by line")) {
  UsageFormatter::Set(*subcommand_, "rochound shell TRACE...");
  trace_.AddTo(*subcommand_, "Traces, opened as one");
}

const char* ShellCommand::examples() const {
  return R"(
Statements end with a semicolon. .tables lists what can be asked, .schema NAME its columns, .quit ends.

Examples:
  rochound shell trace.rpd
  echo 'select * from top;' | rochound shell trace.rpd
)";
}

int ShellCommand::Run(const std::vector<std::string>& /*program*/) {
  if (trace_.traces().empty()) {
    base::LogError("which trace? For example: rochound shell trace.rpd");
    return base::kExitUsage;
  }
  auto trace = trace_.OpenWithViews(trace_.traces());
  if (!trace.ok()) return Failed(trace.error());
  PrintDoubts(trace.value());
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (terminal) fmt::print(stderr, "SQL; .tables, .schema NAME, .quit\n");
  std::string statement, line;
  bool failed = false;
  while (true) {
    if (terminal) {
      fmt::print(stderr, "{}", statement.empty() ? "rochound> " : "     ...> ");
      fflush(stderr);
    }
    if (!std::getline(std::cin, line)) break;
    if (statement.empty() && !line.empty() && line[0] == '.') {
      if (line == ".quit" || line == ".exit" || line == ".q") break;
      if (line == ".tables") {
        statement =
            "SELECT table_name AS name, if(table_type = 'VIEW' AND table_name NOT LIKE "
            "'roc%', 'view', 'table') AS kind FROM information_schema.tables WHERE "
            "table_schema = 'main' ORDER BY kind, name;";
      } else if (line.rfind(".schema ", 0) == 0) {
        statement =
            "SELECT column_name, data_type FROM information_schema.columns WHERE "
            "table_schema = 'main' AND table_name = " +
            store::duck::Literal(line.substr(8)) + " ORDER BY ordinal_position;";
      } else {
        base::LogError("there are .tables, .schema NAME and .quit");
        continue;
      }
    } else {
      statement += line + "\n";
    }
    const size_t last = statement.find_last_not_of(" \t\r\n");
    if (last == std::string::npos) statement.clear();
    if (last == std::string::npos || statement[last] != ';') continue;
    const auto done = Answer(trace.value(), statement, Form::kText, 0);
    fflush(stdout);
    if (!done.ok()) {
      base::LogError(WithHint(done.error()).message);
      failed = true;
    }
    statement.clear();
  }
  return failed && !terminal ? base::kExitFailure : base::kExitSuccess;
}

}  // namespace rochound::cli
