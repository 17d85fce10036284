// SPDX-License-Identifier: MIT
#include "codeobj/omniprobe.h"

#include <gtest/gtest.h>

#include <cstring>

#include "codeobj/swap.h"

namespace rochound::codeobj {
namespace {

Argument Given(uint64_t offset, uint64_t size, const char* kind) {
  Argument argument;
  argument.offset = offset;
  argument.size = size;
  argument.value_kind = kind;
  return argument;
}

Kernel KernelWith(std::vector<Argument> arguments, uint64_t bytes) {
  Kernel kernel;
  kernel.has_metadata = true;
  kernel.arguments = std::move(arguments);
  kernel.kernarg_segment_size = bytes;
  return kernel;
}

template <typename T>
T At(const std::vector<std::byte>& bytes, size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

TEST(Omniprobe, NamesAreFoundAgain) {
  EXPECT_EQ(OmniprobeName("_Z3addPfi"), "__amd_crk__Z3addPfiPv");
  EXPECT_EQ(OriginalOfOmniprobe("__amd_crk__Z3addPfiPv"), "_Z3addPfi");
  EXPECT_EQ(OriginalOfOmniprobe("_Z3addPfi"), "");
  EXPECT_EQ(OriginalOfOmniprobe("__amd_crk_Pv"), "");
}

// A pointer and a number; then a hidden one that the original gets, too, and two that it does not.
TEST(Omniprobe, HiddenArgumentsStandWhereTheCopyReadsThem) {
  const Kernel original = KernelWith({Given(0, 8, "global_buffer"), Given(8, 4, "by_value"),
                                      Given(16, 8, "hidden_hostcall_buffer")},
                                     24);
  const Kernel copy = KernelWith(
      {Given(0, 8, "global_buffer"), Given(8, 4, "by_value"), Given(16, 8, "global_buffer"),
       Given(24, 4, "hidden_block_count_x"), Given(28, 2, "hidden_group_size_x"),
       Given(30, 2, "hidden_remainder_x"), Given(32, 8, "hidden_hostcall_buffer")},
      40);
  const auto plan = PlanOmniprobeArguments(original, copy);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::vector<std::byte> from(24), made(40, std::byte{0xff});
  const uint64_t pointer = 0x1122334455667788, hostcall = 0x99aabbccddeeff00;
  const uint32_t number = 77;
  std::memcpy(from.data(), &pointer, 8);
  std::memcpy(from.data() + 8, &number, 4);
  std::memcpy(from.data() + 16, &hostcall, 8);
  SwapLaunch launch;
  launch.grid = {1000, 1, 1};
  launch.workgroup = {256, 1, 1};
  plan.value().Make(from, launch, 0xabcdef, made);
  EXPECT_EQ(At<uint64_t>(made, 0), pointer);
  EXPECT_EQ(At<uint32_t>(made, 8), number);
  EXPECT_EQ(At<uint64_t>(made, 16), 0xabcdefu);
  EXPECT_EQ(At<uint32_t>(made, 24), 3u);
  EXPECT_EQ(At<uint16_t>(made, 28), 256);
  EXPECT_EQ(At<uint16_t>(made, 30), 232);
  EXPECT_EQ(At<uint64_t>(made, 32), hostcall);
}

TEST(Omniprobe, WhatNobodyCanGiveIsRefused) {
  const Kernel original = KernelWith({Given(0, 8, "global_buffer")}, 8);
  const auto refused = [&](std::vector<Argument> arguments, const char* because) {
    const auto plan = PlanOmniprobeArguments(original, KernelWith(std::move(arguments), 64));
    ASSERT_FALSE(plan.ok()) << because;
    EXPECT_NE(plan.error().message.find(because), std::string::npos) << plan.error().message;
  };
  refused({Given(0, 8, "global_buffer")}, "one argument more");
  refused({Given(0, 8, "global_buffer"), Given(8, 8, "by_value")}, "no pointer");
  refused({Given(0, 4, "by_value"), Given(8, 8, "global_buffer")}, "argument 0");
  refused(
      {Given(0, 8, "global_buffer"), Given(8, 8, "global_buffer"), Given(16, 8, "hidden_heap_v1")},
      "hidden_heap_v1");
  refused({Given(0, 8, "global_buffer"), Given(60, 8, "global_buffer")}, "where its metadata says");
}

}  // namespace
}  // namespace rochound::codeobj
