// SPDX-License-Identifier: MIT
#include "cli/explain_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "analysis/extend.h"
#include "analysis/findings/finding.h"
#include "analysis/health.h"
#include "analysis/trace_facts.h"
#include "base/exit_codes.h"
#include "base/log.h"
#include "cli/trace_output.h"
#include "cli/usage_formatter.h"
#include "report/findings_text.h"
#include "report/software_gpu.h"
#include "report/text.h"

namespace rochound::cli {
namespace {

constexpr const char* kFindings = "findings";  // the question that needs no name

constexpr const char* kExplainExamples = R"(
Examples:
  rochound explain trace.rpd                        what costs most time, and what to do: findings
  rochound explain top trace.rpd
  rochound explain idle trace.rpd --json | jq .tables.causes
  rochound explain stragglers rank*.rpd             several traces are one, each a node
  rochound explain diff old*.rpd --against new*.rpd several runs of each side, so that chance can be told
  rochound explain top chrome-trace.json.gz         PyTorch's, rocprofv3's .db, our Parquet

With --write, callstack, graphs and autograd leave RPD's tables and views in the
.rpd: ext_callstack, callStack_inclusive_name, graphLaunch, graphKernel,
autogradKernel and others, for sqlite3 and for scripts written for RPD.

Exit codes: 0 answered, 2 wrong command line, 125 the trace cannot be read.
)";

}  // namespace

ExplainCommand::ExplainCommand(CLI::App& app)
    : Command(app.add_subcommand("explain", "Answer a question about a trace")) {
  UsageFormatter::Set(*subcommand_, "rochound explain [QUESTION] TRACE... [OPTIONS]");
  subcommand_->add_option("question", question_, "What to ask (below); findings if none is named")
      ->type_name("QUESTION");
  trace_.AddTo(*subcommand_, "Flight logs, .rpd, rocpd .db, Chrome .json[.gz], Parquet folders");
  subcommand_->add_flag("--json", json_, "Print one JSON object, with all rows and exact numbers");
  subcommand_->add_flag("--csv", csv_, "Print the tables as comma-separated values, all rows");
  subcommand_
      ->add_option("--limit", ask_.limit,
                   "Rows per table; 0 for all (20, all with --json and --csv)")
      ->type_name("ROWS");
  subcommand_
      ->add_option("--steps", ask_.step_pattern,
                   "Regular expression of the ranges that are steps (step 1, ProfilerStep#1, ...)")
      ->type_name("REGEX");
  subcommand_
      ->add_option("--against", against_,
                   "diff: runs after the change; the others are runs before it")
      ->type_name("TRACE...");
  subcommand_->add_flag(
      "--write", write_,
      "callstack, graphs, autograd: also add RPD's tables of the answer to the .rpd");
  examples_ = "\nQuestions:\n";
  for (const analysis::Question& question : analysis::Questions())
    examples_ += fmt::format("  {:<14} {}\n", question.name, question.summary);
  examples_ += kExplainExamples;
}

const char* ExplainCommand::examples() const { return examples_.c_str(); }

int ExplainCommand::Run(const std::vector<std::string>& /*program*/) {
  const analysis::Question* question = analysis::FindQuestion(question_);
  std::error_code error;
  // Where it is there, opening it looks for a later log.
  const bool is_there = std::filesystem::exists(question_, error);
  const std::string found = question == nullptr && !is_there ? FindTrace(question_) : question_;
  if (question == nullptr && std::filesystem::exists(found, error)) {
    trace_.AddFirst(found);
    question_ = kFindings;
    question = analysis::FindQuestion(question_);
  }
  if (question == nullptr) {
    const bool path = question_.find_first_of("./") != std::string::npos;
    base::LogError(question_.empty() ? "what is the question?"
                   : path
                       ? fmt::format("there is no trace '{}'; rochound run records one", question_)
                       : fmt::format("there is no question '{}'", question_));
    base::LogInfo("rochound explain --help lists the questions.");
    return base::kExitUsage;
  }
  if (trace_.traces().empty()) {
    base::LogError(
        fmt::format("which trace? For example: rochound explain {} trace.rpd", question_));
    return base::kExitUsage;
  }
  if (!against_.empty() && question_ != "diff") {
    base::LogError("--against is for the question diff");
    return base::kExitUsage;
  }
  const auto extending = analysis::ExtendingQuestions();
  if (write_ && std::find(extending.begin(), extending.end(), question_) == extending.end()) {
    base::LogError("--write is for the questions callstack, graphs and autograd");
    return base::kExitUsage;
  }
  if (!against_.empty()) ask_.before_count = trace_.traces().size();
  if ((json_ || csv_) && subcommand_->count("--limit") == 0) ask_.limit = 0;
  std::optional<analysis::Findings> findings;
  bool software = false;  // the GPU is
  std::string rpd;        // what the answer is to be written into
  base::Result<analysis::Answer> answer = [&]() -> base::Result<analysis::Answer> {
    ROCHOUND_TRY(store::TraceDatabase trace,
                 question_ == kFindings ? trace_.OpenForMany() : trace_.OpenWith(against_));
    if (write_ && trace.formats() != std::vector{store::SourceFormat::kRpd})
      return base::Error{"--write needs one .rpd"};
    rpd = trace_.traces()[0];
    software = analysis::OnSoftwareGpu(trace);
    analysis::Answer made;
    if (question_ != kFindings) {
      ROCHOUND_TRY(made, analysis::Ask(trace, *question, ask_));
    } else {
      ROCHOUND_TRY(findings, analysis::FindFindings(trace, ask_));
      made = analysis::FindingsAnswer(*findings);
      ROCHOUND_TRY(made.doubts, analysis::Doubts(trace));
    }
    if (software) made.notes.emplace_back(report::kSoftwareGpuTimes);
    return made;
  }();
  if (!answer.ok()) return Failed(answer.error());
  if (json_) {
    fmt::print("{}", report::AnswerJson(answer.value()));
  } else if (csv_) {
    fmt::print(stderr, "{}", report::DoubtsText(answer.value().doubts, {}));
    fmt::print("{}", report::AnswerCsv(answer.value()));
  } else if (findings.has_value()) {
    fmt::print("{}{}", report::DoubtsText(answer.value().doubts, TerminalStyle()),
               report::FindingsText(findings.value(), TerminalStyle()));
    if (software) fmt::print("\n{}\n", report::kSoftwareGpuTimes);
  } else {
    fmt::print("{}", report::AnswerText(answer.value(), TerminalStyle()));
  }
  if (!write_) return base::kExitSuccess;
  const auto done = analysis::Extend(rpd, question_);
  if (done.ok()) return base::kExitSuccess;
  base::LogError(fmt::format("the answer was not added to '{}': {}", rpd, done.error().message));
  return base::kExitSetup;
}

}  // namespace rochound::cli
