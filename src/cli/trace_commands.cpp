// SPDX-License-Identifier: MIT
#include "cli/trace_commands.h"

#include "analysis/questions.h"
#include "cli/convert_command.h"
#include "cli/explain_command.h"
#include "cli/merge_command.h"
#include "cli/open_command.h"
#include "cli/query_command.h"
#include "cli/report_command.h"

namespace rochound::cli {

void AddTraceCommands(CLI::App& app, Commands& commands) {
  commands.push_back(std::make_unique<ExplainCommand>(app));
  commands.push_back(std::make_unique<QueryCommand>(app));
  commands.push_back(std::make_unique<ShellCommand>(app));
  commands.push_back(std::make_unique<MergeCommand>(app));
  commands.push_back(std::make_unique<OpenCommand>(app));
  commands.push_back(std::make_unique<ConvertCommand>(app));
  commands.push_back(std::make_unique<TopCommand>(app));
  commands.push_back(std::make_unique<ReportCommand>(app));
}

std::vector<std::string> QuestionNames() {
  std::vector<std::string> names;
  for (const analysis::Question& question : analysis::Questions())
    names.emplace_back(question.name);
  return names;
}

bool IsQuestion(const std::string& word) { return analysis::FindQuestion(word) != nullptr; }

}  // namespace rochound::cli
