// SPDX-License-Identifier: MIT
//
// What the commands that ask a trace have in common: opening it with limits that leave the machine
// usable, progress on the terminal, and the style of what they print. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/progress_bar.h"
#include "base/result.h"
#include "report/text.h"
#include "store/open/trace_database.h"

namespace rochound::cli {

// Options of a command that opens traces.
class TraceOptions {
 public:
  // Adds the positional arguments and --memory.
  void AddTo(CLI::App& subcommand, const std::string& help);

  // With a bar on the terminal whenever it or a later statement takes long.
  base::Result<store::TraceDatabase> Open();
  // The same for an export that DuckDB writes.
  base::Result<store::TraceDatabase> OpenForExport();
  // The same with these after the others.
  base::Result<store::TraceDatabase> OpenWith(const std::vector<std::string>& more);
  // The same, ready to be asked many questions one after the other.
  base::Result<store::TraceDatabase> OpenForMany();
  // The same for some of them, with RPD's views, for queries by people.
  base::Result<store::TraceDatabase> OpenWithViews(const std::vector<std::string>& traces);

  const std::vector<std::string>& traces() const { return traces_; }
  void AddFirst(const std::string& trace) { traces_.insert(traces_.begin(), trace); }

 private:
  base::Result<store::TraceDatabase> Open(const std::vector<std::string>& traces,
                                          store::OpenOptions options);

  std::vector<std::string> traces_;
  std::string memory_;
  std::shared_ptr<base::ProgressBar> bar_;
  std::optional<base::TempDir> spill_;  // what does not fit into memory
};

// Of stdout.
report::TextStyle TerminalStyle();

// Prints and returns the exit code of a command whose input could not be used.
int Failed(const base::Error& error);

}  // namespace rochound::cli
