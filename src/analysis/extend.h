// SPDX-License-Identifier: MIT
//
// Writes what a question finds into an .rpd, as the tables and views that RPD's own tools make, so
// that plain sqlite3 and scripts written for RPD can use it. Either all of it is written or
// nothing; what was there from an earlier time, or from RPD's tools, is replaced. Called by the
// command line; one thread; nobody else may write the file meanwhile.
//
//   callstack  rochound_call: one row per call with its parent; views ext_callstack,
//              callStack_inclusive, callStack_exclusive, callStack_inclusive_name and
//              callStack_exclusive_name
//   graphs     ext_graph, rochound_graph_launch, rochound_graph_kernel; views graphLaunch and
//              graphKernel
//   autograd   ext_autogradapi, rochound_autograd_call; views autograd and autogradKernel
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::analysis {

// The questions that can be written.
std::span<const std::string_view> ExtendingQuestions();

base::Result<void> Extend(const std::filesystem::path& rpd, std::string_view question,
                          const store::OpenOptions& options = {});

}  // namespace rochound::analysis
