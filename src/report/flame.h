// SPDX-License-Identifier: MIT
//
// The call stacks of a trace in the shape of a flame graph: a tree of paths. Siblings that differ
// only in a number, like a thousand steps, are one ("step #"), and paths are cut off where their
// share of the time is too small to be seen. Made once per report; plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/call_stacks.h"

namespace rochound::report {

struct Flame {
  struct Node {
    uint32_t parent = 0;  // comes before its children; node 0 is the root
    uint32_t name = 0;
    int64_t calls = 0;                // its own; a function of a stack has none
    int64_t calls_below = 0;          // with those below, drawn or not
    int64_t host_ns = 0, gpu_ns = 0;  // with what is below
  };
  std::vector<std::string> names;
  std::vector<Node> nodes{Node{}};  // of the root, calls_below are all calls
  int64_t folded = 0;               // calls on paths that were cut off
};

Flame MakeFlame(const analysis::CallStacks& stacks);

}  // namespace rochound::report
