// SPDX-License-Identifier: MIT
//
// `rochound optimize`: from a program to a faster kernel in it. Captures launches, has candidates
// judged (optimize/judge.h), keeps a journal, and lets the program itself run with the best one
// before that counts as applied. Also log, show, sent and rollback of that journal. Called once by
// main on its only thread.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/judge_command.h"
#include "cli/optimize_llm.h"
#include "optimize/journal.h"
#include "optimize/tuner.h"

namespace rochound::cli {

class OptimizeCommand final : public Command {
 public:
  explicit OptimizeCommand(CLI::App& app);

  const char* examples() const override;
  int Run(const std::vector<std::string>& program) override;

 private:
  struct Search;  // what a run knows while it goes on

  std::string Problem(const std::vector<std::string>& program) const;  // empty: none
  std::filesystem::path folder() const { return output_; }
  int Log(optimize::Journal& journal) const;
  int Show(optimize::Journal& journal) const;
  int Sent(optimize::Journal& journal) const;
  int Rollback(optimize::Journal& journal) const;
  base::Result<int> Optimize(const std::vector<std::string>& program);

  base::Result<void> JudgeFolder(Search* search);
  base::Result<void> Tune(Search* search);
  base::Result<void> AskModel(Search* search, const std::vector<std::string>& program,
                              const std::vector<std::filesystem::path>& bundles,
                              const optimize::JudgeTools& tools);
  // From the journal, or judged and written there.
  base::Result<optimize::JournalEntry> Judged(Search* search, const std::filesystem::path& file,
                                              const std::vector<std::string>& flags, bool first,
                                              const optimize::Judge::Gate& gate = nullptr);
  // The same by the launches that the search did not see.
  base::Result<optimize::JournalEntry> JudgedHeldOut(Search* search,
                                                     const optimize::JournalEntry& candidate);
  base::Result<bool> Holds(Search* search, const optimize::JournalEntry& candidate);
  // The cheapest of those that were accepted and hold there, too.
  base::Result<std::optional<optimize::JournalEntry>> BestThatHolds(Search* search);
  // The program with and without it, by turns; what is wrong, or empty.
  base::Result<std::string> Apply(Search* search, const optimize::JournalEntry& best,
                                  const std::vector<std::string>& program);
  std::filesystem::path CacheFile() const;

  std::vector<std::string> words_;  // log, show ID, sent [ID], rollback
  std::string kernel_;
  std::string budget_;
  std::string output_ = "rochound-optimize";
  std::string candidates_, tune_, check_;
  uint64_t seed_ = 1, most_ = 40, rounds_ = 3;
  JudgeSettings settings_;
  LlmGenerator llm_;
  bool json_ = false;
};

}  // namespace rochound::cli
