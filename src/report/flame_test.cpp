// SPDX-License-Identifier: MIT
#include "report/flame.h"

#include <gtest/gtest.h>

#include <map>

namespace rochound::report {
namespace {

// Calls with their names, for one thread.
class Stacks {
 public:
  void Call(int64_t start, int64_t end, const std::string& name, int64_t gpu_ns = 0) {
    const auto [at, is_new] = names_.emplace(name, static_cast<uint32_t>(stacks_.texts.size()));
    if (is_new) stacks_.texts.push_back(name);
    sweep_.Add({++id_, 1, 1, start, end, gpu_ns, at->second});
  }

  Flame Make() {
    sweep_.Finish();
    stacks_.tree = std::move(sweep_).TakeTree();
    return MakeFlame(stacks_);
  }

 private:
  int64_t id_ = 0;
  std::map<std::string, uint32_t> names_;
  analysis::CallStacks stacks_;
  analysis::CallSweep sweep_;
};

std::string PathOf(const Flame& flame, uint32_t node) {
  std::string path;
  for (; node != 0; node = flame.nodes[node].parent)
    path = "/" + flame.names[flame.nodes[node].name] + path;
  return path;
}

std::map<std::string, Flame::Node> ByPath(const Flame& flame) {
  std::map<std::string, Flame::Node> paths;
  for (uint32_t i = 1; i < flame.nodes.size(); ++i) paths[PathOf(flame, i)] = flame.nodes[i];
  return paths;
}

TEST(FlameTest, EqualPathsAreOne) {
  Stacks stacks;
  stacks.Call(0, 100, "forward");
  stacks.Call(10, 20, "hipLaunchKernel", 500);
  stacks.Call(30, 50, "hipLaunchKernel", 700);
  stacks.Call(100, 160, "forward");
  stacks.Call(110, 120, "hipMalloc");
  const auto paths = ByPath(stacks.Make());
  ASSERT_EQ(paths.size(), 3U);
  EXPECT_EQ(paths.at("/forward").calls, 2);
  EXPECT_EQ(paths.at("/forward").cpu_ns, 160);
  EXPECT_EQ(paths.at("/forward").gpu_ns, 1200);
  EXPECT_EQ(paths.at("/forward/hipLaunchKernel").calls, 2);
  EXPECT_EQ(paths.at("/forward/hipLaunchKernel").cpu_ns, 30);
  EXPECT_EQ(paths.at("/forward/hipMalloc").gpu_ns, 0);
}

TEST(FlameTest, ManyNumberedRangesAreOneFewAreNot) {
  Stacks stacks;
  for (int64_t step = 0; step < 100; ++step) {
    stacks.Call(step * 1000, step * 1000 + 900, "step " + std::to_string(step));
    for (int64_t layer = 0; layer < 4; ++layer) {
      const int64_t start = step * 1000 + layer * 200;
      stacks.Call(start, start + 150, "layer " + std::to_string(layer));
    }
  }
  const auto paths = ByPath(stacks.Make());
  ASSERT_EQ(paths.size(), 5U);
  EXPECT_EQ(paths.at("/step #").calls, 100);
  EXPECT_EQ(paths.at("/step #/layer 3").calls, 100);
  EXPECT_EQ(paths.at("/step #/layer 3").cpu_ns, 15000);
}

TEST(FlameTest, WhatCannotBeSeenIsCounted) {
  Stacks stacks;
  stacks.Call(0, 1000000, "main");
  for (int64_t i = 0; i < 7; ++i) stacks.Call(i * 10, i * 10 + 5, "tiny");
  const Flame flame = stacks.Make();
  EXPECT_EQ(flame.nodes.size(), 2U);
  EXPECT_EQ(flame.folded, 7);
}

}  // namespace
}  // namespace rochound::report
