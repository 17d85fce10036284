// SPDX-License-Identifier: MIT
#include "analysis/questions.h"

#include <array>
#include <utility>
#include <vector>

#include "analysis/apis.h"
#include "analysis/autograd.h"
#include "analysis/call_stacks.h"
#include "analysis/critical_path.h"
#include "analysis/findings/finding.h"
#include "analysis/graphs.h"
#include "analysis/health.h"
#include "analysis/idle.h"
#include "analysis/memory.h"
#include "analysis/overlap.h"
#include "analysis/questions/diff.h"
#include "analysis/stragglers.h"
#include "analysis/swaps.h"

namespace rochound::analysis {
namespace {

template <size_t N>
struct Name {
  constexpr Name(const char (&text)[N]) {  // NOLINT: implicit by design
    for (size_t i = 0; i < N; ++i) letters[i] = text[i];
  }
  char letters[N];
};

template <Name name>
base::Result<Answer> Sql(store::TraceDatabase& trace, const AskOptions& options) {
  return AskSql(trace, name.letters, options);
}

constexpr Question kQuestions[] = {
    // In the order in which the report shows them, section by section.
    {"findings", "what costs most time, and one thing to do about each", "Overview", "Findings",
     "What costs most time, and what to do about it.", AskFindings},
    {"idle", "what GPUs waited for, and which call or range took that time", "Why", "Idle causes",
     "What GPUs waited for, gap by gap. Busy and idle times of a GPU add up to the whole time.",
     AskIdle},
    {"critical-path", "what the whole time was spent on, one thing after the other, and slack",
     "Why", "Critical path",
     "The chain of work that decides how long the program takes; what is not on it has slack.",
     AskCriticalPath},
    {"overlap", "how much computing, copying and communication went on at the same time", "Why",
     "Overlap", "Computing, copying and communicating: at once, or one after the other.",
     AskOverlap},
    {"queues", "how many operations wait in each queue, over time", "Why", "Queue depth",
     "How much submitted work was waiting.", Sql<"queues">},
    {"launch", "what a launch costs: its call, the wait in the queue, the kernel", "Why",
     "Launches", "From the call to the kernel: time in the call, waiting in the queue, running.",
     Sql<"launch">},
    {"busy", "how much of the time each GPU and queue worked", "Why", "Busy",
     "How much of the time each GPU and each queue worked.", Sql<"busy">},
    {"top", "kernels by time: by name, and by name and shape", "What", "Kernels",
     "Where the GPU spent its time.", Sql<"top">},
    {"apis", "HIP and HSA calls by time", "What", "Calls",
     "Where the host spent its time: HIP and HSA calls, and the program's own ranges.", AskApis},
    {"copies", "copies by direction, with bandwidth", "What", "Copies",
     "What was moved, in which direction, and how fast.", Sql<"copies">},
    {"memory", "how much memory was held over time, at the peak, and never freed", "What", "Memory",
     "How much memory was held over time, what held it at the peak, and what was never freed.",
     AskMemory},
    {"callstack", "CPU and GPU time of calls and ranges, with and without what they called", "What",
     "Call stack totals",
     "Time of calls with and without the calls inside them, on the CPU and on the GPU.",
     AskCallStack},
    {"graphs", "what HIP graphs are made of and what their launches cost", "What", "Graphs",
     "HIP graphs: launches, and the kernels in them.", AskGraphs},
    {"autograd", "kernels by PyTorch operator and tensor size", "What", "Autograd",
     "Kernels by the operator of the model that caused them.", AskAutograd},
    {"swaps", "kernels that others took the place of, how fast those are, and what did not fit",
     "What", "Swapped kernels", "Kernels that others took the place of, and how fast those are.",
     AskSwaps},
    {"stragglers", "which rank the others wait for", "Ranks and steps", "Stragglers",
     "Ranks that keep the others waiting.", AskStragglers},
    {"variability", "kernels and steps whose times differ, between calls and ranks",
     "Ranks and steps", "Variability", "Kernels and steps whose times differ from one to the next.",
     Sql<"variability">},
    {"diff", "what changed between two sets of runs, and whether that is chance", "Ranks and steps",
     "Differences", "What changed between two sets of runs.", AskDiff},
    {"health", "what is missing from the trace or doubtful in it", "Trust", "Health",
     "What the trace is missing and what in it is doubtful.", AskHealth},
};

// A part of a question's file: what follows a `-- table:` line, or what is before the first.
struct Section {
  std::string id, title, sql;
};

struct Script {
  std::string preparation;
  std::vector<std::string> notes;
  std::vector<Section> sections;
};

std::string_view Trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

Script Parse(std::string_view text) {
  constexpr std::string_view kTable = "-- table:", kNote = "-- note:";
  Script script;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.substr(0, kTable.size()) == kTable) {
      const std::string_view rest = line.substr(kTable.size());
      const size_t bar = rest.find('|');
      script.sections.push_back({std::string(Trimmed(rest.substr(0, bar))),
                                 std::string(Trimmed(rest.substr(bar + 1))), ""});
    } else if (line.substr(0, kNote.size()) == kNote) {
      script.notes.emplace_back(Trimmed(line.substr(kNote.size())));
    } else {
      std::string& sql = script.sections.empty() ? script.preparation : script.sections.back().sql;
      sql.append(line).append("\n");
    }
  }
  return script;
}

}  // namespace

std::span<const Question> Questions() { return kQuestions; }

const Question* FindQuestion(std::string_view name) {
  for (const Question& question : kQuestions)
    if (name == question.name) return &question;
  return nullptr;
}

base::Result<Answer> Ask(store::TraceDatabase& trace, const Question& question,
                         const AskOptions& options) {
  ROCHOUND_TRY(std::vector<std::string> doubts, Doubts(trace));
  auto answer = question.ask(trace, options);
  if (!answer.ok()) return answer.error().In(question.name);
  answer.value().question = question.name;
  answer.value().doubts = std::move(doubts);
  return answer;
}

base::Result<Table> ReadTable(store::duck::Connection& connection, const std::string& sql,
                              const std::string& id, const std::string& title, uint64_t limit) {
  using store::duck::Kind;
  ROCHOUND_TRY(store::duck::Rows rows, connection.Query(sql));
  Table table{id, title, {}, {}, 0};
  for (size_t i = 0; i < rows.columns(); ++i)
    table.columns.push_back(MakeColumn(rows.name(i), rows.kind(i) != Kind::kText));
  while (true) {
    ROCHOUND_TRY(const bool any, rows.Next());
    if (!any) return table;
    if (limit != 0 && table.rows.size() == limit) {
      ++table.more;
      continue;
    }
    std::vector<Value>& row = table.rows.emplace_back();
    for (size_t i = 0; i < rows.columns(); ++i) {
      if (rows.IsNull(i)) {
        row.emplace_back();
      } else if (rows.kind(i) == Kind::kText) {
        row.emplace_back(std::string(rows.Text(i)));
      } else if (rows.kind(i) == Kind::kReal) {
        row.emplace_back(rows.Real(i));
      } else {
        row.emplace_back(rows.Int(i));
      }
    }
  }
}

base::Result<Answer> AskSql(store::TraceDatabase& trace, std::string_view name,
                            const AskOptions& options) {
  const Script script = Parse(QuestionText(name));
  store::duck::Connection& connection = trace.connection();
  ROCHOUND_CHECK(
      connection.Run("SET VARIABLE step_pattern = " + store::duck::Literal(options.step_pattern)));
  if (!script.preparation.empty()) ROCHOUND_CHECK(connection.Run(script.preparation));
  Answer answer;
  answer.question = name;
  answer.notes = script.notes;
  for (const Section& section : script.sections) {
    ROCHOUND_TRY(Table table,
                 ReadTable(connection, section.sql, section.id, section.title, options.limit));
    answer.tables.push_back(std::move(table));
  }
  return answer;
}

}  // namespace rochound::analysis
