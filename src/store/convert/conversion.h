// SPDX-License-Identifier: MIT
//
// A whole run's flight log -> trace.rpd or tables of DuckDB, JSON lines and duration lines, in one
// pass. Called by `rochound run`, by `rochound log recover` and by whatever asks about a flight
// log, on one thread; the run may have ended in any way.
// Errors are of the output (a full disk) or of a folder that is no log; what is wrong inside the
// log is in the summary, and the rest is converted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/convert/filter.h"
#include "store/convert/summary.h"
#include "store/convert/swap_comparison.h"
#include "store/convert/text_output.h"
#include "store/rpd/trace_writer.h"
#include "trace/reader.h"

namespace rochound::store {

// A process that used a GPU and left no log.
struct MissingProcess {
  int64_t pid = 0;
  std::string note;
};

struct ConversionOptions {
  std::filesystem::path rpd{};      // empty: none
  TraceWriter* tables = nullptr;    // instead of an .rpd; null: none
  TextOutput* jsonl = nullptr;      // null: none
  TextOutput* durations = nullptr;  // null: none
  const Filter* filter = nullptr;   // null: everything
  // Called now and then with the records done and the records there are. False: stop.
  std::function<bool(uint64_t done, uint64_t records)> progress{};
  std::string command{};     // of the run, for the trace's metadata
  std::string status{};      // how it ended: "exit 0", "signal 9", kKilled; empty: not known
  std::string fault{};       // how a GPU failed, in a sentence; empty: none did
  std::string unfit_code{};  // as RunEnding has it
  int64_t cpu_ns = -1;       // of all its processes; -1: not known
  std::vector<MissingProcess> unrecorded{};
  SwapComparisons swap_comparisons{};
};

base::Result<Summary> ConvertRun(const trace::RunLog& run, const ConversionOptions& options);

// The same for a run that left no log: outputs without content that say why.
base::Result<Summary> ConvertNothing(const std::string& why, const ConversionOptions& options);

}  // namespace rochound::store
