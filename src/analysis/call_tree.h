// SPDX-License-Identifier: MIT
//
// Who called whom, and what that cost: calls of a thread in the order they started become a tree.
// A call's parent is the call of its thread that started last and is still open. The sweep sees
// every call once and holds only the calls that are open, what each name cost, and the merged tree,
// so fifty million calls need no more memory than their distinct paths. Used by the question
// `callstack`, by the flame graph and by what is written into an .rpd. One thread; cannot fail.
//
//   inclusive CPU   from start to end
//   exclusive CPU   inclusive less what its children took
//   exclusive GPU   the operations that the call itself caused
//   inclusive GPU   and those that the calls below it caused
//
// CPU time here is time of the host: waiting and sleeping count. Where a call comes with its stack
// frames, the functions are in the tree between it and the call around it. They have no time of
// their own, since what a function does between calls is not recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "store/convert/flat_map.h"

namespace rochound::analysis {

inline constexpr int64_t kNoCall = -1;

// A call as it comes from the trace. Calls must come in the order of pid, tid, start, end
// (descending), id.
struct CallSpan {
  int64_t id = 0, pid = 0, tid = 0;
  int64_t start = 0, end = 0;
  int64_t gpu_ns = 0;  // of the operations that it caused
  uint32_t name = 0;   // any small number that stands for the name
  // The functions that it was called from, outermost first, as such numbers. Read by Add() only.
  std::span<const uint32_t> frames{};
};

// The same call when everything below it is known.
struct CallCost {
  int64_t id = 0;
  int64_t parent = kNoCall;
  int64_t depth = 0;  // 0: nobody called it
  int64_t cpu_inclusive = 0, cpu_exclusive = 0;
  int64_t gpu_inclusive = 0, gpu_exclusive = 0;
};

struct CallTotals {
  int64_t calls = 0;
  int64_t cpu_inclusive = 0, cpu_exclusive = 0;
  int64_t gpu_inclusive = 0, gpu_exclusive = 0;
  double cpu_exclusive_squares = 0;  // the sum of them, for how much the calls differ

  void Add(const CallCost& call);
};

// All threads' calls merged: calls with equal names below equal paths are one node. A node's parent
// comes before it. Node 0 is the root: no name, no calls, and the sums of what is below it. A
// function of a stack has no calls of its own either.
class CallTree {
 public:
  struct Node {
    uint32_t parent = 0;
    uint32_t name = 0;
    CallTotals totals{};
  };

  // Names that are made up as a program runs would make a tree as large as the trace: paths beyond
  // this number end in kMore.
  static constexpr size_t kMostNodes = 1 << 20;
  static constexpr uint32_t kMore = UINT32_MAX;  // as a name

  CallTree() : nodes_(1) {}

  uint32_t Child(uint32_t parent, uint32_t name);
  void Add(uint32_t node, const CallCost& call);
  // To the functions from this node up to the one at `end`, which is left out.
  void AddToFunctions(uint32_t node, uint32_t end, const CallCost& call);
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
  store::FlatMap children_;
};

class CallSweep {
 public:
  using Sink = std::function<void(const CallCost&)>;

  // Calls sink, if any, once per completed call: children before their parents.
  explicit CallSweep(Sink sink = {}) : sink_(std::move(sink)) {}

  void Add(const CallSpan& call);
  void Finish();

  const CallTree& tree() const { return tree_; }
  CallTree TakeTree() && { return std::move(tree_); }
  // By name. Inclusive times count a name once where it called itself.
  const std::vector<CallTotals>& names() const { return names_; }
  // Functions of stacks by name: how many calls were made below them, and their inclusive times.
  const std::vector<CallTotals>& functions() const { return functions_; }
  int64_t calls() const { return calls_; }
  int64_t deepest() const { return deepest_; }

 private:
  struct Open {
    CallSpan span;
    uint32_t node = 0;
    size_t frames = 0;      // on the list of frames while this call is open
    int64_t below_cpu = 0;  // what its children took of its time
    int64_t below_gpu = 0;
  };

  void Close();

  Sink sink_;
  CallTree tree_;
  std::vector<CallTotals> names_;
  std::vector<uint32_t> open_names_;  // how often each name is on the stack
  std::vector<Open> stack_;
  // Of the open calls: their frames without those that the call around it has, too.
  std::vector<uint32_t> frames_;
  std::vector<uint32_t> open_functions_;  // how often each name is among them
  std::vector<CallTotals> functions_;
  int64_t pid_ = 0, tid_ = 0;
  int64_t calls_ = 0, deepest_ = 0;
};

}  // namespace rochound::analysis
