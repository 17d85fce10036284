// SPDX-License-Identifier: MIT
//
// A trace as a graph of what waited for what, with the critical path through it (path_graph.h), and
// what each kernel is worth end to end: the graph is run again with the kernel's launches shorter.
// Made by `rochound profile` for dag.json; one thread. Holds the whole graph; of a large trace only
// the nodes of the path are listed one by one, and `left_out` counts the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::analysis {

enum class DagNodeKind : uint8_t { kKernel, kCopy, kOther, kHost };

struct DagNode {
  uint32_t id = 0;
  DagNodeKind kind = DagNodeKind::kHost;
  std::string name;                  // of an operation
  int64_t op = 0;                    // its id in the trace
  int64_t gpu = 0, queue = 0;        // of an operation
  int64_t process = 0, thread = 0;   // of the host
  int64_t start_ns = 0, end_ns = 0;  // since the first event
  int64_t slack_ns = 0;
  bool on_path = false;
};

struct DagEdge {
  uint32_t from = 0, to = 0;
  bool binding = false;  // of all that `to` follows, `from` ended last
};

struct DagKernel {
  std::string name;
  uint64_t launches = 0;
  int64_t total_ns = 0;
  uint64_t launches_on_path = 0;
  int64_t path_ns = 0;
  int64_t least_slack_ns = 0, median_slack_ns = 0;
  // What the program would gain if all launches took half their time, or none.
  int64_t half_saves_ns = 0;
  int64_t all_saves_ns = 0;
};

struct Dag {
  std::vector<std::string> doubts;
  int64_t end_to_end_ns = 0;  // from the first event to the last
  int64_t path_gpu_ns = 0;    // of operations on the path
  std::vector<DagNode> nodes;
  std::vector<DagEdge> edges;  // between nodes that are listed
  std::vector<uint32_t> path;  // ids of nodes, first to last
  uint64_t left_out = 0;
  std::vector<DagKernel> kernels;  // those that would give most come first
};

// most_nodes: with more, only those on the path are listed.
base::Result<Dag> MakeDag(store::TraceDatabase& trace, uint64_t most_nodes = 100'000);

}  // namespace rochound::analysis
