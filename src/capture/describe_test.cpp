// SPDX-License-Identifier: MIT
#include "capture/describe.h"

#include <gtest/gtest.h>

#include <cstring>

#include "capture/bundle.h"
#include "capture/pack.h"
#include "capture/test_bundle.h"
#include "codeobj/code_object.h"

namespace rochound::capture {
namespace {

constexpr uint64_t kDelta = 0x7fff00000000;

// A launch of a kernel of src/codeobj/testdata/kernels.hip, as the agent would write it.
TestLaunch LaunchOf(const std::string& kernel, size_t kernarg_bytes) {
  TestLaunch launch = SmallLaunch();
  const std::string file = base::ReadFile(ROCHOUND_TEST_FILES "/gfx942.co").value();
  const auto object = codeobj::CodeObject::Parse(file);
  EXPECT_TRUE(object.ok());
  launch.code_object.resize(file.size());
  memcpy(launch.code_object.data(), file.data(), file.size());
  launch.manifest.kernel.clear();
  launch.manifest.notes.clear();
  launch.manifest.code_object.load_delta = kDelta;
  launch.manifest.launch.kernel_object =
      kDelta + object.value().FindKernel(kernel)->descriptor_address;
  launch.manifest.launch.kernarg_bytes = static_cast<uint32_t>(kernarg_bytes);
  launch.kernarg = Bytes(kernarg_bytes);
  return launch;
}

void Set(Bytes& kernarg, size_t offset, uint64_t value) {
  memcpy(kernarg.data() + offset, &value, sizeof value);
}

void Describe(TestLaunch& launch) {
  DescribeLaunch(launch.manifest, launch.kernarg, launch.code_object);
}

TEST(Describe, FindsTheKernelAndWhatItsPointersPointInto) {
  TestLaunch launch = LaunchOf("plain", 296);
  Set(launch.kernarg, 0, launch.manifest.regions[2].base + 64);
  Set(launch.kernarg, 8, launch.manifest.regions[0].base + launch.manifest.regions[0].size);
  Describe(launch);
  const Manifest& manifest = launch.manifest;
  EXPECT_EQ(manifest.kernel, "plain");
  EXPECT_TRUE(manifest.notes.empty());
  ASSERT_GT(manifest.arguments.size(), 5u);
  EXPECT_EQ(manifest.arguments[0].value_kind, "global_buffer");
  EXPECT_EQ(manifest.arguments[0].region, 2);
  EXPECT_EQ(manifest.arguments[0].region_offset, 64u);
  EXPECT_EQ(manifest.arguments[1].region, -1);  // one past the end
  EXPECT_EQ(manifest.arguments[2].value_kind, "by_value");
  EXPECT_EQ(manifest.arguments[2].offset, 16u);
  EXPECT_EQ(manifest.arguments[3].size, 16u);
  EXPECT_TRUE(manifest.arguments.back().value_kind.starts_with("hidden_"));
  EXPECT_EQ(Implausible(manifest), "");
}

TEST(Describe, TakesTypesFromTheKernelsName) {
  TestLaunch launch = LaunchOf("_ZN6shapes6ReduceIfEEvPKT_PS1_", 272);
  launch.manifest.kernel = "something else";
  Describe(launch);
  EXPECT_EQ(launch.manifest.kernel, "_ZN6shapes6ReduceIfEEvPKT_PS1_");
  ASSERT_GE(launch.manifest.arguments.size(), 2u);
  EXPECT_EQ(launch.manifest.arguments[0].type_name, "float const*");
  ASSERT_EQ(launch.manifest.notes.size(), 1u);
  EXPECT_NE(launch.manifest.notes[0].find("'something else'"), std::string::npos);
}

TEST(Describe, LeavesOutArgumentsThatTheSegmentDoesNotHave) {
  TestLaunch launch = LaunchOf("plain", 20);
  Describe(launch);
  EXPECT_EQ(launch.manifest.arguments.size(), 3u);
  EXPECT_EQ(Implausible(launch.manifest), "");
}

TEST(Describe, NotesWhatItCannotFind) {
  TestLaunch launch = LaunchOf("plain", 296);
  launch.manifest.launch.kernel_object += 8;
  launch.manifest.kernel = "plain";
  Describe(launch);
  EXPECT_GT(launch.manifest.arguments.size(), 5u);
  ASSERT_EQ(launch.manifest.notes.size(), 1u);
  EXPECT_NE(launch.manifest.notes[0].find("by its name"), std::string::npos);
  launch.manifest.kernel = "nothing";
  Describe(launch);
  Describe(launch);
  EXPECT_TRUE(launch.manifest.arguments.empty());
  ASSERT_EQ(launch.manifest.notes.size(), 2u);
  EXPECT_NE(launch.manifest.notes[1].find("no kernel where"), std::string::npos);
  launch.code_object.resize(100);
  Describe(launch);
  EXPECT_NE(launch.manifest.notes.back().find("cannot be read"), std::string::npos);
}

TEST(Describe, FindsRegionsByAddress) {
  const Manifest manifest = SmallLaunch().manifest;
  EXPECT_EQ(FindRegion(manifest, 0), -1);
  EXPECT_EQ(FindRegion(manifest, manifest.regions[0].base - 1), -1);
  EXPECT_EQ(FindRegion(manifest, manifest.regions[0].base), 0);
  EXPECT_EQ(FindRegion(manifest, manifest.regions[1].base + 5), 1);
  EXPECT_EQ(FindRegion(manifest, manifest.regions[2].base + manifest.regions[2].size - 1), 2);
  EXPECT_EQ(FindRegion(manifest, manifest.regions[2].base + manifest.regions[2].size), -1);
  EXPECT_EQ(FindRegion(manifest, ~0ull), -1);
}

TEST_F(BundleTest, PackingDescribesTheLaunch) {
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), LaunchOf("plain", 296)));
  ASSERT_TRUE(Pack(Path("bundle"), Path("bundle")).ok());
  const auto bundle = Bundle::Open(Path("bundle"));
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  EXPECT_EQ(bundle.value().manifest().kernel, "plain");
  EXPECT_GT(bundle.value().manifest().arguments.size(), 5u);
}

}  // namespace
}  // namespace rochound::capture
