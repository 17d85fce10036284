// SPDX-License-Identifier: MIT
#include "capture/replay/kernarg.h"

#include <gtest/gtest.h>

#include <cstring>

namespace rochound::capture::replay {
namespace {

codeobj::Argument Arg(uint64_t offset, uint64_t size, const char* kind) {
  codeobj::Argument argument;
  argument.offset = offset;
  argument.size = size;
  argument.value_kind = kind;
  return argument;
}

codeobj::Kernel KernelWith(std::vector<codeobj::Argument> arguments, uint64_t size) {
  codeobj::Kernel kernel;
  kernel.name = "k";
  kernel.has_metadata = true;
  kernel.arguments = std::move(arguments);
  kernel.kernarg_segment_size = size;
  return kernel;
}

template <typename T>
T At(const std::vector<std::byte>& bytes, size_t offset) {
  T value;
  memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

TEST(Kernarg, HiddenArgumentsGoByKind) {
  const auto captured =
      KernelWith({Arg(0, 8, "global_buffer"), Arg(8, 4, "by_value"),
                  Arg(16, 4, "hidden_block_count_x"), Arg(24, 8, "hidden_heap_v1")},
                 32);
  const auto other =
      KernelWith({Arg(0, 8, "global_buffer"), Arg(8, 4, "by_value"), Arg(16, 8, "hidden_heap_v1"),
                  Arg(24, 4, "hidden_block_count_x"), Arg(28, 2, "hidden_group_size_x"),
                  Arg(30, 2, "hidden_grid_dims"), Arg(32, 4, "hidden_dynamic_lds_size"),
                  Arg(40, 8, "hidden_hostcall_buffer")},
                 48);
  std::vector<std::byte> bytes(32);
  const uint64_t pointer = 0x7f0000000000, heap = 0x1234;
  const uint32_t value = 42, blocks = 9;
  memcpy(bytes.data(), &pointer, 8);
  memcpy(bytes.data() + 8, &value, 4);
  memcpy(bytes.data() + 16, &blocks, 4);
  memcpy(bytes.data() + 24, &heap, 8);
  Launch launch;
  launch.setup = 1;
  launch.grid = {9 * 64, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.group_bytes = 512;
  const auto made = LayOutFor(captured, bytes, other, launch);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto& out = made.value().bytes;
  ASSERT_EQ(out.size(), 48U);
  EXPECT_EQ(At<uint64_t>(out, 0), pointer);
  EXPECT_EQ(At<uint32_t>(out, 8), value);
  EXPECT_EQ(At<uint64_t>(out, 16), heap);
  EXPECT_EQ(At<uint32_t>(out, 24), blocks);
  EXPECT_EQ(At<uint16_t>(out, 28), 64);
  EXPECT_EQ(At<uint16_t>(out, 30), 1);
  EXPECT_EQ(At<uint32_t>(out, 32), 512U);
  EXPECT_EQ(At<uint64_t>(out, 40), 0U);
  ASSERT_EQ(made.value().notes.size(), 1U);
  EXPECT_NE(made.value().notes[0].find("hidden_hostcall_buffer"), std::string::npos);
}

TEST(Kernarg, AnExtraArgumentIsRefused) {
  const auto captured = KernelWith({Arg(0, 8, "global_buffer")}, 8);
  const auto other = KernelWith({Arg(0, 8, "global_buffer"), Arg(8, 4, "by_value")}, 16);
  EXPECT_FALSE(LayOutFor(captured, std::vector<std::byte>(8), other, {}).ok());
  auto bare = captured;
  bare.has_metadata = false;
  EXPECT_FALSE(LayOutFor(captured, std::vector<std::byte>(8), bare, {}).ok());
}

TEST(Kernarg, ABlockThatIsTooShortIsRefused) {
  const auto kernel = KernelWith({Arg(0, 8, "global_buffer"), Arg(8, 8, "global_buffer")}, 16);
  EXPECT_FALSE(LayOutFor(kernel, std::vector<std::byte>(8), kernel, {}).ok());
}

TEST(Kernarg, TypesMemoryByItsPointers) {
  const auto kernel = KernelWith({Arg(0, 8, "global_buffer"), Arg(8, 8, "global_buffer"),
                                  Arg(16, 8, "global_buffer"), Arg(24, 4, "by_value")},
                                 32);
  std::vector<std::byte> bytes(32);
  const uint64_t one = 0x1100, two = 0x1800, outside = 0x9000;
  memcpy(bytes.data(), &two, 8);
  memcpy(bytes.data() + 8, &one, 8);
  memcpy(bytes.data() + 16, &outside, 8);
  Region region;
  region.base = 0x1000;
  region.size = 0x1000;
  const auto spans =
      TypeMemory(kernel, bytes, std::vector<Region>{region}, "k(double*, float*, int*, int)");
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].base, one);
  EXPECT_EQ(spans[0].end, two);
  EXPECT_EQ(spans[0].type, Element::kFloat);
  EXPECT_EQ(spans[0].argument, 1U);
  EXPECT_EQ(spans[1].base, two);
  EXPECT_EQ(spans[1].end, 0x2000U);
  EXPECT_EQ(spans[1].type, Element::kDouble);
  // A name that does not tell as many parameters as there are arguments tells nothing.
  EXPECT_EQ(TypeMemory(kernel, bytes, std::vector<Region>{region}, "k(float*)")[0].type,
            Element::kUnknown);
}

TEST(Kernarg, ServicesOfTheHost) {
  const auto kernel =
      KernelWith({Arg(0, 8, "hidden_hostcall_buffer"), Arg(8, 8, "hidden_heap_v1")}, 16);
  std::vector<std::byte> bytes(16);
  EXPECT_TRUE(HostServices(kernel, bytes).empty());
  bytes[3] = std::byte{1};
  EXPECT_EQ(HostServices(kernel, bytes), std::vector<std::string>{"hidden_hostcall_buffer"});
}

}  // namespace
}  // namespace rochound::capture::replay
