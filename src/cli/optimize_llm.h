// SPDX-License-Identifier: MIT
//
// The generator of `rochound optimize --llm`: options, what the model is told, the question whether
// it may be sent, and what is kept of it. The loop itself is optimize/model_search.h. Called by the
// command on main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "optimize/endpoint.h"
#include "optimize/journal.h"
#include "optimize/model_search.h"

namespace rochound::cli {

// What the rest of the command knows.
struct LlmTask {
  std::vector<std::string> program;
  std::vector<std::filesystem::path> bundles;
  std::filesystem::path folder;  // of the whole run
  std::filesystem::path hipcc;
  std::vector<std::string> flags;  // of the compiler
  std::string softgpu, verify;
  optimize::Journal* journal = nullptr;
  // A candidate that the model wrote, as a file.
  std::function<base::Result<optimize::JournalEntry>(const std::filesystem::path& file,
                                                     const std::vector<std::string>& flags)>
      judge;
  std::function<bool()> late;
};

class LlmGenerator {
 public:
  void AddTo(CLI::App* subcommand);
  bool wanted() const { return !source_.empty(); }
  bool prints_only() const { return print_only_; }
  std::filesystem::path source() const { return source_; }
  // What is wrong with the options; empty: nothing.
  std::string Problem() const;

  // Reads the endpoint from the environment and takes the key out of it; before any program starts.
  base::Result<void> Prepare();
  base::Result<void> Run(const LlmTask& task);
  // A question on the terminal, or --auto-approve. No answer is no.
  bool Approves(const std::string& question) const;

 private:
  base::Result<optimize::KernelFacts> Facts(const LlmTask& task) const;
  std::string ProbeFindings(const LlmTask& task, const std::string& kernel) const;
  base::Result<std::optional<std::string>> Ask(const LlmTask& task, const std::string& request);

  std::string source_;
  optimize::ModelSearchOptions options_;
  double min_improvement_percent_ = 2;
  double answer_seconds_ = 300;
  bool auto_approve_ = false, print_only_ = false;
  optimize::Endpoint endpoint_;
  bool approved_ = false;
  std::map<std::string, size_t> asked_;  // how often each request was made in this run
};

}  // namespace rochound::cli
