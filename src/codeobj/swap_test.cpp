// SPDX-License-Identifier: MIT
#include "codeobj/swap.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/files.h"

namespace rochound::codeobj {
namespace {

constexpr uint64_t kLds = 65536;

std::filesystem::path Path(const std::string& build) {
  return std::filesystem::path(ROCHOUND_TEST_FILES) / ("swap." + build + ".co");
}

// A build of testdata/swap.hip.
struct Build {
  explicit Build(const std::string& name) {
    auto read = base::ReadFile(Path(name));
    EXPECT_TRUE(read.ok()) << name;
    if (read.ok()) bytes = std::move(read).value();
    auto parsed = CodeObject::Parse(bytes);
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    if (parsed.ok()) object = std::move(parsed).value();
  }
  const Kernel& kernel() const { return *object.FindKernel("scale"); }

  std::string bytes;
  CodeObject object;
};

base::Result<SwapPlan> Plan(const Build& original, const Build& candidate,
                            const std::string& gpu = "") {
  std::optional<Target> target;
  if (!gpu.empty()) target = ParseTarget(gpu).value();
  return PlanSwap({original.object, original.bytes}, {candidate.object, candidate.bytes}, "scale",
                  target);
}

SwapPlan Fits(const std::string& original, const std::string& candidate,
              const std::string& gpu = "") {
  const auto plan = Plan(Build(original), Build(candidate), gpu);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return plan.ok() ? plan.value() : SwapPlan();
}

void Refused(const std::string& original, const std::string& candidate, const std::string& because,
             const std::string& gpu = "") {
  const auto plan = Plan(Build(original), Build(candidate), gpu);
  ASSERT_FALSE(plan.ok()) << candidate;
  EXPECT_NE(plan.error().message.find(because), std::string::npos) << plan.error().message;
}

SwapLaunch Launch(uint32_t workgroup, uint32_t groups = 4) {
  SwapLaunch launch;
  launch.grid = {workgroup * groups, 1, 1};
  launch.workgroup = {workgroup, 1, 1};
  return launch;
}

TEST(Swap, TakesAnotherBuildOfTheSameKernel) {
  Fits("plain", "plain");
  Fits("plain", "better");
  Fits("plain", "resources");
}

TEST(Swap, RefusesOtherArguments) {
  Refused("plain", "argument", "argument 1");
  Refused("plain", "argument", "4 bytes");
  Refused("plain", "argument", "in the candidate");
  Build original("plain");
  Build candidate("better");
  // What no compiler would do to one source, but a program that writes code objects may.
  auto& kernels = const_cast<std::vector<Kernel>&>(candidate.object.kernels());
  kernels[0].arguments[0].address_space = "constant";
  const auto plan = Plan(original, candidate);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("address space constant"), std::string::npos)
      << plan.error().message;
}

TEST(Swap, RefusesHiddenArgumentsThatNobodyWrites) {
  Refused("no_size", "plain", "hidden_block_count_x");
  Refused("plain", "prints", "hidden_hostcall_buffer");
  // The other way round it reads less than there is.
  Fits("plain", "no_size");
  Fits("prints", "plain");
}

TEST(Swap, RefusesHiddenArgumentsElsewhere) {
  Refused("prints", "version4_prints", "hidden argument hidden_");
  Refused("prints", "version4_prints", "it is a code object of version 4");
  // Before version 5 the workgroup's size is read from the packet, so this one reads none.
  Fits("plain", "version4");
}

TEST(Swap, AsksTheGpuForItsTarget) {
  Refused("plain", "gfx1030", "compiled for gfx1030, and the original for gfx942");
  Refused("plain", "xnack_on", "compiled for gfx942:xnack+, and the GPU is gfx942:sramecc+:xnack-",
          "gfx942:sramecc+:xnack-");
  Fits("plain", "xnack_on", "gfx942:sramecc+:xnack+");
  Fits("plain", "xnack_on");  // the original says nothing about it
  if (!std::filesystem::exists(Path("generic")))
    GTEST_SKIP() << "the compiler has no gfx9-4-generic";
  Fits("plain", "generic");
  Fits("plain", "generic", "gfx942:sramecc+:xnack-");
  Fits("generic", "plain", "gfx942:sramecc+:xnack-");
  Refused("plain", "generic", "gfx9-4-generic", "gfx1030");
}

TEST(Swap, RefusesOwnCopiesOfVariables) {
  Refused("variable", "variable_again", "variable 'gain'");
  Refused("static_variable", "static_variable", "variable '_ZL4gain'");
  // A variable that the program does not know is the candidate's own business.
  Fits("plain", "variable");
  Fits("variable", "plain");
}

TEST(Swap, BindsOutsideVariables) {
  const Build original("variable");
  const auto plan = Plan(original, Build("outside_variable"));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan.value().bindings.size(), 1u);
  EXPECT_EQ(plan.value().bindings[0].name, "gain");
  for (const Symbol& variable : original.object.variables()) {
    if (variable.name == "gain") {
      EXPECT_EQ(plan.value().bindings[0].address, variable.address);
    }
  }
  Refused("plain", "outside_variable", "needs 'gain'");
}

TEST(Swap, ComparesConstants) {
  Fits("constants", "constants_again");
  Refused("constants", "other_constants", "constant 'table' differs");
}

TEST(Swap, CarriesSizesOver) {
  const Build plain("plain");
  const Build resources("resources");
  const SwapPlan plan = Fits("plain", "resources");
  const auto own_group = static_cast<uint32_t>(resources.kernel().group_segment_fixed_size);
  const auto own_private = static_cast<uint32_t>(resources.kernel().private_segment_fixed_size);
  ASSERT_GE(own_group, 1200u);
  ASSERT_GE(own_private, 400u);
  SwapLaunch launch = Launch(64);
  EXPECT_EQ(plan.GroupBytes(launch), own_group);
  EXPECT_EQ(plan.PrivateBytes(launch), own_private);
  launch.group_bytes = 512;  // the original has none of its own, so these are dynamic
  EXPECT_EQ(plan.GroupBytes(launch), own_group + 512);
  launch.private_bytes = 16;
  EXPECT_EQ(plan.PrivateBytes(launch), own_private + 16);
  // And back: what the original had of its own goes.
  const SwapPlan back = Fits("resources", "plain");
  launch.group_bytes = own_group + 512;
  launch.private_bytes = own_private;
  EXPECT_EQ(back.GroupBytes(launch), 512u);
  EXPECT_EQ(back.PrivateBytes(launch), 0u);
  // A stack without a bound needs what HIP would have given it.
  SwapPlan deep = plan;
  deep.dynamic_stack = true;
  launch.private_bytes = 0;
  EXPECT_EQ(deep.PrivateBytes(launch), std::max(own_private, 1024u));
  launch.private_bytes = 8192;
  EXPECT_GE(deep.PrivateBytes(launch), 8192u);
}

TEST(Swap, LooksAtEachLaunch) {
  const SwapPlan plan = Fits("plain", "better");
  EXPECT_TRUE(plan.Takes(Launch(256), kLds));
  EXPECT_FALSE(plan.Takes(Launch(257), kLds));
  EXPECT_EQ(plan.WhyNot(Launch(256), kLds), "");
  EXPECT_NE(plan.WhyNot(Launch(512), kLds).find("512 work-items"), std::string::npos);

  SwapLaunch much = Launch(64);
  much.group_bytes = 65536;
  EXPECT_TRUE(plan.Takes(much, kLds));
  much.group_bytes = 65537;
  EXPECT_FALSE(plan.Takes(much, kLds));
  EXPECT_NE(plan.WhyNot(much, kLds).find("65537 bytes of LDS"), std::string::npos);

  SwapPlan picky = plan;
  picky.required_workgroup = {8, 8, 1};
  EXPECT_FALSE(picky.Takes(Launch(64), kLds));
  EXPECT_NE(picky.WhyNot(Launch(64), kLds).find("8x8x1 only"), std::string::npos);
  SwapLaunch part = Launch(64);
  part.grid[0] -= 1;
  SwapPlan whole = plan;
  whole.whole_workgroups = true;
  EXPECT_FALSE(whole.Takes(part, kLds));
  whole.whole_workgroups = false;
  EXPECT_TRUE(whole.Takes(part, kLds));

  const SwapPlan bigger = Fits("plain", "resources");
  SwapLaunch together = Launch(64);
  EXPECT_TRUE(bigger.Takes(together, kLds));
  together.cooperative = true;
  EXPECT_FALSE(bigger.Takes(together, kLds));
  EXPECT_NE(bigger.WhyNot(together, kLds).find("cooperative"), std::string::npos);
}

}  // namespace
}  // namespace rochound::codeobj
