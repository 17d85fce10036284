// SPDX-License-Identifier: MIT
#include "report/flame.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace rochound::report {
namespace {

using analysis::CallStacks;
using analysis::CallTree;

constexpr size_t kMostAlike = 8;         // siblings that differ in a number, before they are one
constexpr int64_t kSmallestPart = 4000;  // of the whole; smaller ones are less than half a pixel

std::string WithoutNumbers(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (c < '0' || c > '9') {
      pattern.push_back(c);
    } else if (pattern.empty() || pattern.back() != '#') {
      pattern.push_back('#');
    }
  }
  return pattern;
}

class Builder {
 public:
  explicit Builder(const CallStacks& stacks) : stacks_(stacks), children_(Nodes().size()) {
    for (uint32_t i = 1; i < Nodes().size(); ++i) children_[Nodes()[i].parent].push_back(i);
    calls_below_.resize(Nodes().size());
    for (size_t i = Nodes().size(); i-- > 0;) {
      calls_below_[i] += Nodes()[i].totals.calls;
      if (i > 0) calls_below_[Nodes()[i].parent] += calls_below_[i];
    }
  }

  Flame Build() {
    // Node i of the flame graph is made of these nodes of the tree. The list grows on the way.
    sources_.push_back({0});
    flame_.nodes[0].calls_below = calls_below_[0];
    for (uint32_t node = 0; node < flame_.nodes.size(); ++node) AddChildren(node);
    return std::move(flame_);
  }

 private:
  const std::vector<CallTree::Node>& Nodes() const { return stacks_.tree.nodes(); }

  void AddChildren(uint32_t node) {
    std::map<std::string, std::vector<uint32_t>> by_name;
    std::unordered_map<std::string, size_t> alike;
    for (const uint32_t source : sources_[node])
      for (const uint32_t child : children_[source])
        by_name[stacks_.NameOf(Nodes()[child].name)].push_back(child);
    for (const auto& [name, unused] : by_name) ++alike[WithoutNumbers(name)];
    std::map<std::string, std::vector<uint32_t>> groups;
    for (auto& [name, members] : by_name) {
      const std::string pattern = WithoutNumbers(name);
      std::vector<uint32_t>& group = groups[alike[pattern] > kMostAlike ? pattern : name];
      group.insert(group.end(), members.begin(), members.end());
    }
    for (auto& [name, members] : groups) Add(node, name, std::move(members));
  }

  void Add(uint32_t parent, const std::string& name, std::vector<uint32_t> members) {
    Flame::Node node;
    node.parent = parent;
    for (const uint32_t member : members) {
      const analysis::CallTotals& totals = Nodes()[member].totals;
      node.calls += totals.calls;
      node.calls_below += calls_below_[member];
      node.host_ns += totals.cpu_inclusive;
      node.gpu_ns += totals.gpu_inclusive;
    }
    const analysis::CallTotals& whole = Nodes()[0].totals;
    if (node.host_ns < whole.cpu_inclusive / kSmallestPart &&
        node.gpu_ns <= whole.gpu_inclusive / kSmallestPart) {
      flame_.folded += node.calls_below;
      return;
    }
    const auto [at, is_new] = names_.emplace(name, static_cast<uint32_t>(flame_.names.size()));
    if (is_new) flame_.names.push_back(name);
    node.name = at->second;
    flame_.nodes.push_back(node);
    sources_.push_back(std::move(members));
  }

  const CallStacks& stacks_;
  std::vector<std::vector<uint32_t>> children_, sources_;
  std::vector<int64_t> calls_below_;  // by node of the tree
  std::unordered_map<std::string, uint32_t> names_;
  Flame flame_;
};

}  // namespace

Flame MakeFlame(const CallStacks& stacks) { return Builder(stacks).Build(); }

}  // namespace rochound::report
