// SPDX-License-Identifier: MIT
//
// Thread traces: what each instruction of a traced launch cost. Read from folders as rocprofv3
// --att leaves them when it has decoded a trace (code.json and companions, or stats_*.csv alone);
// the software GPU's traces are in the same shape (thread_trace_writer.h). Offline, one thread.
// Files may come from anybody: what does not fit together gives an error, never a crash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace rochound::profile {

// What an instruction is issued to, by its name: "VALU", "MFMA" (all matrix instructions), "SALU",
// "SMEM", "VMEM", "LDS", "branch", "barrier", "wait" or "other".
std::string_view UnitOf(std::string_view instruction);

struct SourceLine {
  std::string file;
  uint32_t line = 0;
};

// Cycles are summed over all times that the instruction was issued, by all waves that were traced.
struct TracedInstruction {
  size_t function = 0;  // its place in ThreadTrace::functions
  uint64_t address = 0;
  std::string text;
  std::string_view unit;
  uint64_t hits = 0;
  uint64_t latency = 0;  // from when it could be issued to its end, stalls with it
  uint64_t stall = 0;
  uint64_t idle = 0;               // from the end of the one before to when it could be issued
  std::vector<SourceLine> source;  // innermost first: with inlined functions there are several
};

// Time over which units could have worked.
struct TracedSpan {
  uint64_t cycles = 0;
  uint64_t simds = 0;
};

struct ThreadTrace {
  std::string folder;
  std::string agent;  // as the folder's name has it; "" if it does not
  std::optional<uint64_t> dispatch;
  bool modelled = false;  // the software GPU's model, not measured
  struct Function {
    std::string symbol, name;
  };
  std::vector<Function> functions;
  std::vector<TracedInstruction> instructions;  // in the order of the file
  std::optional<uint64_t> waves;                // that files of their own tell about
  std::optional<TracedSpan> span;
  // Waves that were resident on what was traced: time and how many, mean of the stretch up to the
  // next. Empty: not known.
  std::vector<std::pair<uint64_t, double>> occupancy;

  // The function that waves began with, or the first; 0 if there is none.
  size_t Kernel() const;
};

struct ThreadTraces {
  std::vector<ThreadTrace> traces;
  std::map<std::string, std::vector<std::string>> sources;  // lines of files, by path
  std::vector<std::string> warnings;
};

// Each a folder of one trace or one that holds several, however deep, or a code.json.
base::Result<ThreadTraces> ReadThreadTraces(const std::vector<std::filesystem::path>& paths);

struct UnitUse {
  uint64_t instructions = 0;
  uint64_t issue_cycles = 0;  // latency without stalls
  uint64_t stall_cycles = 0;
  std::optional<double> utilisation;  // issue cycles of the SIMDs' cycles; none without a span
};
std::map<std::string_view, UnitUse> UseOfUnits(const ThreadTrace& trace);

struct LineCost {
  SourceLine where;
  // Of all instructions that come from the line, also through functions that were inlined there.
  uint64_t hits = 0, latency = 0, stall = 0, idle = 0;
  uint64_t own_latency = 0;  // of those that come from the line itself
};
// The most expensive first.
std::vector<LineCost> CostOfLines(const ThreadTrace& trace);

// thread_trace.json (docs/formats/profile.md) and its part of the page.
std::string ThreadTraceJson(const ThreadTraces& traces);
std::string ThreadTracePage(const ThreadTraces& traces);

}  // namespace rochound::profile
