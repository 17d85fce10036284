// SPDX-License-Identifier: MIT
//
// What is made of a run's log in the end: the files that were asked for, a progress bar while that
// takes long, and a summary for people. Shared by `rochound run` and `rochound log recover`, one
// thread. Everything for people goes to stderr: stdout is the program's, and the lines' that were
// asked for there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/convert/summary.h"
#include "trace/reader.h"

namespace rochound::cli {

struct TraceOutput {
  std::filesystem::path rpd;             // empty: none
  std::string jsonl;                     // file, or -; empty: none
  std::optional<std::string> durations;  // file, or -; empty: thrown away
  bool quiet = false;                    // no summary
  bool software_gpu = false;             // times are an interpreter's
  std::string fault{};                   // how a GPU failed, in a sentence; empty: none did
};

// Where durations go: what LOGDUR_LOG_LOCATION says (console, a file, or empty for nowhere);
// without it, the console if they were asked for. Nothing: not wanted.
std::optional<std::string> DurationsPlace(bool asked, const char* location);

using trace::IsLogFolder;

// The command line of the run that left this log; empty: not known.
std::string CommandOf(const std::filesystem::path& log_directory);

// Makes the output. why_empty: why there may be nothing in the log. Calls ChildProcess::Interrupted
// to see whether to go on.
base::Result<store::Summary> MakeOutput(const std::filesystem::path& log_directory,
                                        const TraceOutput& output, const std::string& why_empty);

// The trace of this name. Where a run was killed before it was made, it is made now, of the log
// beside it; while the run goes on, that is the log itself.
std::string FindTrace(const std::string& name);

// At most ten lines; what is missing comes first. story: before them, what ended the run, and how
// much the GPU was used.
std::string SummaryText(const store::Summary& summary, const TraceOutput& output,
                        bool story = true);

}  // namespace rochound::cli
