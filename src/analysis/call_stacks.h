// SPDX-License-Identifier: MIT
//
// The call stacks of an open trace: what every call and everything below it cost on the CPU and on
// the GPU (call_tree.h says how that is counted), by name and as one merged tree. Used by the
// question `callstack`, by the report's flame graph and by extend.h. One thread; memory grows with
// distinct paths, not with calls. Functions of recorded stacks are part of the paths. Ranges that
// start and stop anywhere (UserRange) and the recorder's own work are in nobody's stack.
#pragma once

#include <string>
#include <vector>

#include "analysis/call_tree.h"
#include "analysis/questions.h"
#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::analysis {

struct CallStacks {
  CallTree tree;                      // names are numbers of `names`
  std::vector<CallTotals> names;      // by name
  std::vector<CallTotals> functions;  // of stack frames, by name
  std::vector<std::string> texts;
  int64_t calls = 0, deepest = 0;

  // A range goes by its message; what frameworks add after the name (", seq = 12") is left out.
  const std::string& NameOf(uint32_t name) const;
};

// Calls sink, if any, once per completed call.
base::Result<CallStacks> LoadCallStacks(store::duck::Connection& connection,
                                        CallSweep::Sink sink = {});

base::Result<Answer> AskCallStack(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
