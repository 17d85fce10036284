// SPDX-License-Identifier: MIT
#include "fleet/daemon/spool.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace rochound::fleet {
namespace {

TEST(SpoolTest, GivesMessagesInOrderOnceTheyAreCommitted) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-spool-");
  Spool spool;
  ASSERT_TRUE(spool.Open(dir.value().path() / "spool", 0).ok());
  ASSERT_TRUE(spool.Add(1, "one").ok());
  ASSERT_TRUE(spool.Add(2, "two").ok());
  EXPECT_FALSE(spool.Oldest());
  spool.Commit(1);
  ASSERT_TRUE(spool.Oldest());
  EXPECT_EQ(spool.Oldest()->text, "one");
  spool.Remove(1);
  EXPECT_FALSE(spool.Oldest());
  spool.Commit(2);
  EXPECT_EQ(spool.Oldest()->number, 2u);
  EXPECT_EQ(spool.bytes(), 3u);
}

TEST(SpoolTest, ForgetsWhatWasNotCommittedBeforeAKill) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-spool-");
  {
    Spool spool;
    ASSERT_TRUE(spool.Open(dir.value().path(), 0).ok());
    for (uint64_t number = 1; number <= 12; ++number) ASSERT_TRUE(spool.Add(number, "text").ok());
  }
  Spool spool;
  ASSERT_TRUE(spool.Open(dir.value().path(), 10).ok());
  EXPECT_EQ(spool.size(), 10u);
  EXPECT_EQ(spool.Oldest()->number, 1u);
  uint64_t last = 0;
  spool.ForEach([&](const Spool::Message& message) {
    EXPECT_EQ(message.number, last + 1);
    last = message.number;
    return true;
  });
  EXPECT_EQ(last, 10u);
}

}  // namespace
}  // namespace rochound::fleet
