// SPDX-License-Identifier: MIT
#include "profile/dag_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/units.h"

namespace rochound::profile {
namespace {

using analysis::Dag;
using analysis::DagKernel;
using analysis::DagNode;
using analysis::DagNodeKind;
using nlohmann::ordered_json;

constexpr size_t kRows = 10;  // on the page

const char* NameOf(DagNodeKind kind) {
  switch (kind) {
    case DagNodeKind::kKernel:
      return "kernel";
    case DagNodeKind::kCopy:
      return "copy";
    case DagNodeKind::kOther:
      return "other";
    case DagNodeKind::kHost:
      return "host";
  }
  return "";
}

const DagKernel* Dominant(const Dag& dag) {
  const auto found = std::max_element(
      dag.kernels.begin(), dag.kernels.end(),
      [](const DagKernel& a, const DagKernel& b) { return a.path_ns < b.path_ns; });
  return found == dag.kernels.end() || found->path_ns == 0 ? nullptr : &*found;
}

ordered_json ToJson(const DagNode& node) {
  ordered_json one = {{"id", node.id}, {"kind", NameOf(node.kind)}};
  if (node.kind == DagNodeKind::kHost) {
    one["process"] = node.process;
    one["thread"] = node.thread;
  } else {
    one["name"] = node.name;
    one["op"] = node.op;
    one["gpu"] = node.gpu;
    one["queue"] = node.queue;
  }
  one["start_ns"] = node.start_ns;
  one["end_ns"] = node.end_ns;
  one["slack_ns"] = node.slack_ns;
  one["critical"] = node.on_path;
  return one;
}

// Where the host goes on by itself while a kernel runs, it may wait for that kernel in a way that the
// trace does not have: a condition, a pipe, a callback, polling. Of a node's time with the host on
// the path, that which launches of a kernel take meanwhile.
int64_t BesideHost(const std::vector<const DagNode*>& host, const DagNode& kernel) {
  int64_t beside = 0;
  auto at =
      std::lower_bound(host.begin(), host.end(), kernel.start_ns,
                       [](const DagNode* node, int64_t start) { return node->end_ns <= start; });
  for (; at != host.end() && (*at)->start_ns < kernel.end_ns; ++at)
    beside += std::min((*at)->end_ns, kernel.end_ns) - std::max((*at)->start_ns, kernel.start_ns);
  return beside;
}

std::vector<std::string> DoubtsOf(const Dag& dag) {
  constexpr double kMuch = 0.05;  // of all time
  std::vector<std::string> doubts = dag.doubts;
  std::vector<const DagNode*> host;  // on the path, where one follows the other
  for (const DagNode& node : dag.nodes)
    if (node.kind == DagNodeKind::kHost && node.on_path) host.push_back(&node);
  std::sort(host.begin(), host.end(),
            [](const DagNode* a, const DagNode* b) { return a->start_ns < b->start_ns; });
  std::map<std::string, int64_t> beside;
  for (const DagNode& node : dag.nodes)
    if (node.kind == DagNodeKind::kKernel) beside[node.name] += BesideHost(host, node);
  for (const DagKernel& kernel : dag.kernels) {
    const int64_t more = beside[kernel.name] / 2 - kernel.half_saves_ns;
    if (static_cast<double>(more) < kMuch * static_cast<double>(dag.end_to_end_ns)) continue;
    doubts.push_back(fmt::format(
        "{} runs for {} while the host goes on by itself. If the host waits for it there, by a "
        "condition, a pipe, a callback or polling, the trace does not tell, and {} more could be "
        "saved than is predicted",
        kernel.name, base::TimeText(beside[kernel.name]), base::TimeText(more)));
  }
  return doubts;
}

}  // namespace

double CriticalPathScore(const Dag& dag, const DagKernel& kernel) {
  return base::Share(kernel.path_ns, dag.end_to_end_ns);
}

std::string DagJson(const Dag& dag) {
  const DagKernel* const dominant = Dominant(dag);
  ordered_json file = {
      {"format", "rochound dag"},
      {"version", 1},
      {"warnings", DoubtsOf(dag)},
      {"end_to_end_ns", dag.end_to_end_ns},
      {"critical_path",
       {{"critical_path_ns", dag.path_gpu_ns},
        {"dominant_symbol", dominant == nullptr ? ordered_json() : ordered_json(dominant->name)},
        {"fraction", dominant == nullptr ? 0 : base::Share(dominant->path_ns, dag.path_gpu_ns)},
        {"nodes", dag.path}}},
      {"kernels", ordered_json::array()},
      {"nodes", ordered_json::array()},
      {"nodes_left_out", dag.left_out},
      {"edges", ordered_json::array()}};
  for (const DagKernel& kernel : dag.kernels) {
    file["kernels"].push_back(
        {{"name", kernel.name},
         {"launches", kernel.launches},
         {"total_ns", kernel.total_ns},
         {"launches_on_path", kernel.launches_on_path},
         {"path_ns", kernel.path_ns},
         {"critical_path_score", CriticalPathScore(dag, kernel)},
         {"slack_ns", {{"least", kernel.least_slack_ns}, {"median", kernel.median_slack_ns}}},
         {"overlap_potential_ns", kernel.all_saves_ns},
         {"what_if",
          {{"speedup", 2},
           {"saved_ns", kernel.half_saves_ns},
           {"end_to_end_ns", dag.end_to_end_ns - kernel.half_saves_ns}}}});
  }
  for (const DagNode& node : dag.nodes) file["nodes"].push_back(ToJson(node));
  for (const analysis::DagEdge& edge : dag.edges)
    file["edges"].push_back({{"from", edge.from}, {"to", edge.to}, {"binding", edge.binding}});
  return file.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

std::string DagPage(const Dag& dag) {
  if (dag.kernels.empty()) return "";
  std::string page;
  for (const std::string& doubt : DoubtsOf(dag)) page += "Note: " + base::Printable(doubt) + "\n";
  page += fmt::format(
      "What kernels are worth from the first event to the last, {} (measured; on a software GPU, "
      "its interpreter's time)\n\n{:>12} {:>12} {:>12} {:>9}  kernel\n",
      base::TimeText(dag.end_to_end_ns), "if twice as", "on the", "all", "least");
  page += fmt::format("{:>12} {:>12} {:>12} {:>9}\n", "fast, saves", "path", "launches", "slack");
  for (size_t i = 0; i < dag.kernels.size() && i < kRows; ++i) {
    const DagKernel& kernel = dag.kernels[i];
    page += fmt::format("{:>12} {:>12} {:>12} {:>9}  {}\n", base::TimeText(kernel.half_saves_ns),
                        base::TimeText(kernel.path_ns), base::TimeText(kernel.total_ns),
                        base::TimeText(kernel.least_slack_ns), base::Printable(kernel.name));
  }
  if (dag.kernels.size() > kRows)
    page += fmt::format("{:>12}\n", fmt::format("{} more", dag.kernels.size() - kRows));
  return page + "\n";
}

}  // namespace rochound::profile
