// SPDX-License-Identifier: MIT
#include "analysis/call_tree.h"

#include <algorithm>

namespace rochound::analysis {

void CallTotals::Add(const CallCost& call) {
  ++calls;
  cpu_inclusive += call.cpu_inclusive;
  cpu_exclusive += call.cpu_exclusive;
  gpu_inclusive += call.gpu_inclusive;
  gpu_exclusive += call.gpu_exclusive;
  const auto cpu = static_cast<double>(call.cpu_exclusive);
  cpu_exclusive_squares += cpu * cpu;
}

uint32_t CallTree::Child(uint32_t parent, uint32_t name) {
  if (nodes_[parent].name == kMore && parent != 0) return parent;
  const uint64_t key = uint64_t{parent} << 32 | name;
  if (const uint32_t found = children_.Find(key); found != store::FlatMap::kNone) return found;
  if (nodes_.size() >= kMostNodes && name != kMore) return Child(parent, kMore);
  const auto node = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({.parent = parent, .name = name});
  children_.Insert(key, node);
  return node;
}

void CallTree::Add(uint32_t node, const CallCost& call) {
  nodes_[node].totals.Add(call);
  if (call.depth > 0) return;
  CallTotals& root = nodes_[0].totals;
  root.cpu_inclusive += call.cpu_inclusive;
  root.gpu_inclusive += call.gpu_inclusive;
}

void CallTree::AddToFunctions(uint32_t node, uint32_t end, const CallCost& call) {
  for (; node != end && node != 0; node = nodes_[node].parent) {
    nodes_[node].totals.cpu_inclusive += call.cpu_inclusive;
    nodes_[node].totals.gpu_inclusive += call.gpu_inclusive;
  }
}

void CallSweep::Add(const CallSpan& call) {
  if (call.pid != pid_ || call.tid != tid_) {
    Finish();
    pid_ = call.pid;
    tid_ = call.tid;
  }
  while (!stack_.empty() && stack_.back().span.end <= call.start) Close();
  if (call.name >= names_.size()) {
    names_.resize(call.name + size_t{1});
    open_names_.resize(call.name + size_t{1});
  }
  ++open_names_[call.name];
  uint32_t node = stack_.empty() ? 0 : stack_.back().node;
  // Functions that the open calls were made from are in the path already.
  size_t known = 0;
  while (known < call.frames.size() && known < frames_.size() &&
         frames_[known] == call.frames[known])
    ++known;
  if (known < frames_.size()) known = 0;  // called from elsewhere, as callbacks are
  const size_t frames = known < call.frames.size() ? call.frames.size() - known : 0;
  for (const uint32_t frame : call.frames.subspan(known)) {
    node = tree_.Child(node, frame);
    frames_.push_back(frame);
    if (frame >= functions_.size()) {
      functions_.resize(frame + size_t{1});
      open_functions_.resize(frame + size_t{1});
    }
    ++open_functions_[frame];
  }
  stack_.push_back({.span = call, .node = tree_.Child(node, call.name), .frames = frames});
}

void CallSweep::Finish() {
  while (!stack_.empty()) Close();
}

void CallSweep::Close() {
  const Open open = stack_.back();
  stack_.pop_back();
  const CallSpan& span = open.span;
  CallCost cost{.id = span.id,
                .parent = stack_.empty() ? kNoCall : stack_.back().span.id,
                .depth = static_cast<int64_t>(stack_.size()),
                .cpu_inclusive = span.end - span.start,
                .cpu_exclusive = span.end - span.start - open.below_cpu,
                .gpu_inclusive = span.gpu_ns + open.below_gpu,
                .gpu_exclusive = span.gpu_ns};
  ++calls_;
  deepest_ = std::max(deepest_, cost.depth);
  if (!stack_.empty()) {
    // Only the part within the parent: calls that were recorded badly may outlast it.
    Open& parent = stack_.back();
    parent.below_cpu += std::min(span.end, parent.span.end) - span.start;
    parent.below_gpu += cost.gpu_inclusive;
  }
  if (sink_) sink_(cost);
  CallCost merged = cost;
  // Below a node for all the rest is that node again.
  if (!stack_.empty() && stack_.back().node == open.node)
    merged.cpu_inclusive = merged.gpu_inclusive = 0;
  tree_.Add(open.node, merged);
  if (open.frames > 0) {
    const uint32_t around = stack_.empty() ? 0 : stack_.back().node;
    const uint32_t from = tree_.nodes()[open.node].parent;
    if (open.node != around) tree_.AddToFunctions(from, around, cost);
    for (size_t i = 0; i < open.frames; ++i) {
      const uint32_t frame = frames_.back();
      frames_.pop_back();
      // A function that called itself counts once.
      if (--open_functions_[frame] == 0) functions_[frame].Add(cost);
    }
  }
  if (--open_names_[span.name] > 0) cost.cpu_inclusive = cost.gpu_inclusive = 0;
  names_[span.name].Add(cost);
}

}  // namespace rochound::analysis
