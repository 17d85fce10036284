// SPDX-License-Identifier: MIT
#include "analysis/dag.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "analysis/critical_path.h"
#include "analysis/health.h"

namespace rochound::analysis {
namespace {

using base::Result;

// Kernels that are on the path with so little time give less than that; each costs a walk over the
// graph.
constexpr size_t kMostWalks = 200;

DagNodeKind KindOf(const std::string& type) {
  if (type == "KernelExecution") return DagNodeKind::kKernel;
  if (type.substr(0, 4) == "Copy") return DagNodeKind::kCopy;
  return DagNodeKind::kOther;
}

std::vector<DagKernel> MakeKernels(const CriticalPath& path, const std::vector<bool>& on_path) {
  const PathGraph& graph = path.graph;
  std::vector<uint32_t> order;
  for (uint32_t op = 0; op < graph.ops(); ++op) {
    if (KindOf(path.names.text(path.op_types[op])) == DagNodeKind::kKernel) order.push_back(op);
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(path.op_names[a], graph.Slack(a)) <
           std::tuple(path.op_names[b], graph.Slack(b));
  });
  std::vector<std::pair<uint32_t, DagKernel>> found;  // by number of the name
  for (size_t first = 0; first < order.size();) {
    const uint32_t name = path.op_names[order[first]];
    DagKernel kernel;
    kernel.name = path.names.text(name);
    size_t last = first;
    for (; last < order.size() && path.op_names[order[last]] == name; ++last) {
      const uint32_t op = order[last];
      kernel.total_ns += graph.End(op) - graph.Start(op);
      if (!on_path[op]) continue;
      ++kernel.launches_on_path;
      kernel.path_ns += graph.End(op) - graph.Start(op);
    }
    kernel.launches = last - first;
    kernel.least_slack_ns = graph.Slack(order[first]);
    kernel.median_slack_ns = graph.Slack(order[first + (last - first - 1) / 2]);
    found.emplace_back(name, std::move(kernel));
    first = last;
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.second.path_ns > b.second.path_ns;
  });
  std::vector<DagKernel> kernels;
  for (auto& [name, kernel] : found) {
    // What is not on the path gives nothing: the path stays as long as it is.
    if (kernel.path_ns > 0 && kernels.size() < kMostWalks) {
      const auto saves = [&, name = name](int64_t parts) {
        return path.window.end - graph.EndWith([&](uint32_t op) {
          const int64_t length = graph.End(op) - graph.Start(op);
          return path.op_names[op] == name ? length - length / parts : length;
        });
      };
      kernel.half_saves_ns = saves(2);
      kernel.all_saves_ns = saves(1);
    }
    kernels.push_back(std::move(kernel));
  }
  std::sort(kernels.begin(), kernels.end(), [](const DagKernel& a, const DagKernel& b) {
    return std::tuple(-a.half_saves_ns, -a.path_ns, a.least_slack_ns, a.name) <
           std::tuple(-b.half_saves_ns, -b.path_ns, b.least_slack_ns, b.name);
  });
  return kernels;
}

}  // namespace

Result<Dag> MakeDag(store::TraceDatabase& trace, uint64_t most_nodes) {
  Dag dag;
  ROCHOUND_TRY(dag.doubts, Doubts(trace));
  ROCHOUND_TRY(const CriticalPath path, AnalyzeCriticalPath(trace.connection(), kClockError, true));
  const PathGraph& graph = path.graph;
  dag.end_to_end_ns = path.window.end - path.window.begin;
  const uint32_t last = graph.LastNode([](uint32_t, uint32_t) { return true; });
  std::vector<bool> on_path(graph.nodes());
  for (uint32_t node = last; node != kNoNode; node = graph.Binding(node)) {
    dag.path.push_back(node);
    on_path[node] = true;
    if (node < graph.ops()) dag.path_gpu_ns += graph.End(node) - graph.Start(node);
  }
  std::reverse(dag.path.begin(), dag.path.end());
  dag.kernels = MakeKernels(path, on_path);

  std::vector<std::pair<int64_t, int64_t>> places;  // of operations, as the graph numbers them
  ROCHOUND_CHECK(ForEachQueuedOp(
      trace.connection(), path.names, path.threads, OpOrder::kQueue,
      [&](const QueuedOp& op, uint32_t) { places.emplace_back(op.gpu, op.queue); }));
  const bool all = graph.nodes() <= most_nodes;
  for (uint32_t node = 0; node < graph.nodes(); ++node) {
    if (!all && !on_path[node]) {
      ++dag.left_out;
      continue;
    }
    DagNode one;
    one.id = node;
    one.start_ns = graph.Start(node) - path.window.begin;
    one.end_ns = graph.End(node) - path.window.begin;
    one.slack_ns = graph.Slack(node);
    one.on_path = on_path[node];
    if (node < graph.ops()) {
      one.kind = KindOf(path.names.text(path.op_types[node]));
      one.name = path.names.text(path.op_names[node]);
      one.op = path.op_ids[node];
      std::tie(one.gpu, one.queue) = places[node];
    } else {
      const HostThread& thread = path.threads.threads()[graph.Thread(node)];
      one.process = thread.pid;
      one.thread = thread.tid;
    }
    dag.nodes.push_back(std::move(one));
  }
  graph.ForEachEdge([&](uint32_t node, uint32_t before) {
    if (all || (on_path[node] && on_path[before]))
      dag.edges.push_back({before, node, graph.Binding(node) == before});
  });
  return dag;
}

}  // namespace rochound::analysis
