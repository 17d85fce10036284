// SPDX-License-Identifier: MIT
#include "optimize/accesses.h"

#include <gtest/gtest.h>

namespace rochound::optimize {
namespace {

constexpr const char* kHead =
    "rochound accesses 1\n"
    "dispatch 7 0 2 rx gfx1030 32 64 1 1 64 1 1 1000 other\n"
    "dispatch 7 1 2 rx gfx1030 32 64 1 1 64 1 1 1000 scale\n"
    "of 7 0\n"
    "a 0 0 4 global_store_dword store global 4 3 9000+4\n"
    "of 7 1\n";

Accesses Parse(const std::string& lines, const AccessRules& rules = {}) {
  auto parsed = ParseAccesses(kHead + lines + "end 7 1 completed\n", "scale", rules);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return std::move(parsed).value();
}

TEST(ByteSet, JoinsAndAnswers) {
  ByteSet set;
  set.Add(100, 10);
  set.Add(120, 10);
  EXPECT_FALSE(set.Contains(105, 10));
  EXPECT_TRUE(set.Touches(109, 5));
  EXPECT_FALSE(set.Touches(110, 10));
  set.Add(110, 10);
  EXPECT_TRUE(set.Contains(100, 30));
  EXPECT_FALSE(set.Contains(100, 31));
  EXPECT_EQ(set.bytes(), 30u);
}

TEST(Accesses, ReadsLanesAndSteps) {
  const auto accesses = Parse(
      "a 0 0 4 s_load_dword load scalar 4 0 100\n"
      "a 0 0 70 global_load_dword load global 4 ff 200+4\n"
      "a 0 1 80 global_store_dword store global 4 3 308-4\n"
      "+ atomic global 4 5 400 500\n"
      "a 0 1 84 scratch_store store scratch 4 1 900\n"
      "a 0 1 90 odd load unknown\n");
  EXPECT_TRUE(accesses.completed);
  EXPECT_TRUE(accesses.read.Contains(0x100, 4));
  EXPECT_TRUE(accesses.read.Contains(0x200, 32));
  EXPECT_FALSE(accesses.read.Contains(0x200, 33));
  EXPECT_TRUE(accesses.written.Contains(0x304, 8));
  EXPECT_TRUE(accesses.written.Contains(0x500, 4));
  EXPECT_TRUE(accesses.read.Contains(0x400, 4));
  EXPECT_EQ(accesses.written.bytes(), 16u);
  EXPECT_EQ(accesses.untraced, std::vector<std::string>{"odd"});
}

TEST(Accesses, NamesTheFirstStray) {
  ByteSet readable, writable;
  readable.Add(0x200, 16);
  writable.Add(0x300, 8);
  const auto accesses = Parse(
      "a 0 0 70 global_load_dword load global 4 f 200+4\n"
      "a 0 0 78 global_load_dword load global 4 1f 200+4\n"
      "a 2 1 80 global_store_dword store global 4 7 300+4\n",
      {&readable, &writable, false});
  const Stray read = accesses.stray_read.value_or(Stray());
  EXPECT_EQ(read.address, 0x210u);
  EXPECT_EQ(read.pc, 0x78u);
  const Stray write = accesses.stray_write.value_or(Stray());
  EXPECT_EQ(write.address, 0x308u);
  EXPECT_EQ(write.group, 2u);
}

TEST(Accesses, SeesLdsThatNobodyWrote) {
  const AccessRules rules{nullptr, nullptr, true};
  // Written by the other wave, whose lines come later: the order of waves means nothing.
  EXPECT_FALSE(Parse("a 0 1 8 ds_read_b32 load lds 4 1 0\n"
                     "a 0 0 4 ds_write_b32 store lds 4 1 0\n",
                     rules)
                   .stray_lds);
  EXPECT_FALSE(Parse("a 0 0 4 ds_write_b32 store lds 4 1 0\n"
                     "a 0 0 8 ds_read_b32 load lds 4 1 0\n",
                     rules)
                   .stray_lds);
  // What the last workgroup left.
  EXPECT_TRUE(Parse("a 0 0 8 ds_read_b32 load lds 4 1 0\n", rules).stray_lds);
  EXPECT_TRUE(Parse("a 0 0 8 ds_read_b32 load lds 4 1 0\n"
                    "a 1 0 4 ds_write_b32 store lds 4 1 0\n",
                    rules)
                  .stray_lds);
  // Read first, and then written by the same wave alone.
  EXPECT_TRUE(Parse("a 0 0 8 ds_read_b32 load lds 4 1 0\n"
                    "a 0 0 9 ds_write_b32 store lds 4 1 0\n",
                    rules)
                  .stray_lds);
}

TEST(Accesses, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(
      ParseAccesses(std::string(kHead) + "a 0 0 zz x load global 4 1 0\n", "scale", {}).ok());
  EXPECT_FALSE(ParseAccesses(kHead, "missing", {}).ok());
}

TEST(Accesses, SeesRacesForLds) {
  const AccessRules rules{nullptr, nullptr, false, true};
  const char* const kWrite = "a 0 0 4 ds_write_b32 store lds 4 1 0\n";
  const char* const kRead = "a 0 1 8 ds_read_b32 load lds 4 1 0\n";
  const std::string barriers = "b 0 0\nb 0 1\n";
  const Race race = Parse(std::string(kWrite) + kRead, rules).race.value_or(Race());
  EXPECT_EQ(race.access.what, "reads LDS");
  EXPECT_EQ(race.access.wave, 1u);
  EXPECT_EQ(race.other_wave, 0u);
  EXPECT_TRUE(Parse(std::string(kRead) + kWrite, rules).race);
  EXPECT_FALSE(Parse(kWrite + barriers + kRead, rules).race);
  // A barrier of another workgroup, or of one wave alone, orders nothing.
  EXPECT_TRUE(Parse(std::string(kWrite) + "b 1 0\nb 1 1\n" + kRead, rules).race);
  // Another byte, another workgroup, the same wave.
  EXPECT_FALSE(Parse(std::string("a 0 0 4 ds_write_b8 store lds 1 1 3\n") +
                         "a 0 1 8 ds_read_u8 load lds 1 1 2\n",
                     rules)
                   .race);
  EXPECT_FALSE(Parse(std::string(kWrite) + "a 1 1 8 ds_read_b32 load lds 4 1 0\n", rules).race);
  EXPECT_FALSE(Parse(std::string(kWrite) + "a 0 0 8 ds_read_b32 load lds 4 1 0\n", rules).race);
  // Atomics race with others, not with each other.
  const std::string atomics =
      "a 0 0 4 ds_add_u32 atomic lds 4 1 0\na 0 1 4 ds_add_u32 atomic lds 4 1 0\n";
  EXPECT_FALSE(Parse(atomics, rules).race);
  EXPECT_TRUE(Parse(atomics + kRead, rules).race);
}

TEST(Accesses, SeesRacesForGlobalMemory) {
  ByteSet writable;
  writable.Add(0x300, 64);
  const AccessRules rules{nullptr, &writable, false, false, true, true};
  const std::string write = "a 0 0 4 global_store_dword store global 4 1 300\n";
  const std::string same_group = "a 0 1 8 global_load_dword load global 4 1 300\n";
  const std::string other_group = "a 3 0 8 global_load_dword load global 4 1 300\n";
  const Race race = Parse(write + same_group, rules).global_race.value_or(Race());
  EXPECT_EQ(race.access.wave, 1u);
  EXPECT_EQ(race.other_wave, 0u);
  EXPECT_FALSE(race.other_group);
  EXPECT_FALSE(Parse(write + "b 0 0\nb 0 1\n" + same_group, rules).global_race);
  // An atomic and a plain store of another wave.
  EXPECT_TRUE(
      Parse(write + "a 0 1 8 global_atomic_add atomic global 4 1 300\n", rules).global_race);
  // Between workgroups no barrier helps, in either order.
  EXPECT_EQ(
      Parse(write + "b 0 0\nb 3 0\n" + other_group, rules).global_race.value_or(Race()).other_group,
      0u);
  EXPECT_TRUE(Parse(other_group + write, rules).global_race);
  AccessRules orders = rules;
  orders.no_group_races = false;
  EXPECT_FALSE(Parse(write + other_group, orders).global_race);
  // What nobody writes, and other bytes of the same dword.
  EXPECT_FALSE(Parse("a 0 0 4 global_load_dword load global 4 1 500\n"
                     "a 1 0 4 global_load_dword load global 4 1 500\n",
                     rules)
                   .global_race);
  EXPECT_FALSE(Parse("a 0 0 4 global_store_byte store global 1 1 301\n"
                     "a 0 1 4 global_store_byte store global 1 1 302\n",
                     rules)
                   .global_race);
}

}  // namespace
}  // namespace rochound::optimize
