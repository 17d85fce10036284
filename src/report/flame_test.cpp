// SPDX-License-Identifier: MIT
#include "report/flame.h"

#include <gtest/gtest.h>

#include <map>

namespace rochound::report {
namespace {

// Calls with their names, for one thread.
class Stacks {
 public:
  void Call(int64_t start, int64_t end, const std::string& name, int64_t gpu_ns = 0,
            const std::vector<std::string>& functions = {}) {
    std::vector<uint32_t> frames;
    for (const std::string& function : functions) frames.push_back(Number(function));
    sweep_.Add({++id_, 1, 1, start, end, gpu_ns, Number(name), frames});
  }

  Flame Make() {
    sweep_.Finish();
    stacks_.tree = std::move(sweep_).TakeTree();
    return MakeFlame(stacks_);
  }

  std::map<std::string, analysis::CallTotals> functions() const {
    std::map<std::string, analysis::CallTotals> found;
    for (size_t i = 0; i < sweep_.functions().size(); ++i)
      if (sweep_.functions()[i].calls > 0) found[stacks_.texts[i]] = sweep_.functions()[i];
    return found;
  }

 private:
  uint32_t Number(const std::string& name) {
    const auto [at, is_new] = names_.emplace(name, static_cast<uint32_t>(stacks_.texts.size()));
    if (is_new) stacks_.texts.push_back(name);
    return at->second;
  }

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
  EXPECT_EQ(paths.at("/forward").host_ns, 160);
  EXPECT_EQ(paths.at("/forward").gpu_ns, 1200);
  EXPECT_EQ(paths.at("/forward/hipLaunchKernel").calls, 2);
  EXPECT_EQ(paths.at("/forward/hipLaunchKernel").host_ns, 30);
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
  EXPECT_EQ(paths.at("/step #/layer 3").host_ns, 15000);
}

// PyTorch's profiler often records a dozen steps or two.
TEST(FlameTest, TwentyStepsAreOneTower) {
  Stacks stacks;
  for (int64_t step = 0; step < 20; ++step) {
    stacks.Call(step * 1000, step * 1000 + 900, "ProfilerStep#" + std::to_string(step));
    stacks.Call(step * 1000, step * 1000 + 500, "aten::mm");
  }
  const auto paths = ByPath(stacks.Make());
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths.at("/ProfilerStep#").calls, 20);
  EXPECT_EQ(paths.at("/ProfilerStep#/aten::mm").host_ns, 10000);
}

TEST(FlameTest, WhatCannotBeSeenIsCounted) {
  Stacks stacks;
  stacks.Call(0, 1000000, "main");
  for (int64_t i = 0; i < 7; ++i) stacks.Call(i * 10, i * 10 + 5, "tiny");
  const Flame flame = stacks.Make();
  EXPECT_EQ(flame.nodes.size(), 2U);
  EXPECT_EQ(flame.folded, 7);
  EXPECT_EQ(flame.nodes[0].calls_below, 8);  // all threads: every call, drawn or not
  EXPECT_EQ(flame.nodes[1].calls, 1);
  EXPECT_EQ(flame.nodes[1].calls_below, 8);
}

TEST(FlameTest, FunctionsOfStacksStandAboveTheirCalls) {
  Stacks stacks;
  stacks.Call(0, 1000, "step 1");
  stacks.Call(100, 300, "hipLaunchKernel", 50, {"main", "train", "forward"});
  stacks.Call(150, 200, "hsa_signal_wait", 0, {"main", "train", "forward", "launch"});
  stacks.Call(400, 500, "hipLaunchKernel", 70, {"main", "train", "train"});
  stacks.Call(2000, 2100, "hipFree", 0, {"main"});
  const Flame flame = stacks.Make();
  const auto paths = ByPath(flame);
  ASSERT_EQ(paths.size(), 11U);
  EXPECT_EQ(paths.at("/step 1/main").calls, 0);
  EXPECT_EQ(paths.at("/step 1/main").calls_below, 3);
  EXPECT_EQ(paths.at("/step 1/main").host_ns, 300);
  EXPECT_EQ(paths.at("/step 1/main").gpu_ns, 120);
  EXPECT_EQ(paths.at("/step 1/main/train/forward").host_ns, 200);
  EXPECT_EQ(paths.at("/step 1/main/train/forward/hipLaunchKernel").calls, 1);
  // The function that the call around it was made from is not told again.
  EXPECT_EQ(paths.at("/step 1/main/train/forward/hipLaunchKernel/launch/hsa_signal_wait").host_ns,
            50);
  EXPECT_EQ(paths.at("/step 1/main/train/train/hipLaunchKernel").gpu_ns, 70);
  EXPECT_EQ(paths.at("/main/hipFree").host_ns, 100);
  const auto& functions = stacks.functions();
  EXPECT_EQ(functions.at("main").calls, 3);
  EXPECT_EQ(functions.at("main").cpu_inclusive, 400);
  EXPECT_EQ(functions.at("train").calls, 2);  // once where it called itself
  EXPECT_EQ(functions.at("train").cpu_inclusive, 300);
  EXPECT_EQ(functions.at("launch").cpu_inclusive, 50);
}

}  // namespace
}  // namespace rochound::report
