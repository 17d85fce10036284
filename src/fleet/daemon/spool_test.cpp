// SPDX-License-Identifier: MIT
#include "fleet/daemon/spool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

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

TEST(SpoolTest, AMessageThatIsWrittenAgainCountsOnce) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-spool-");
  Spool spool;
  ASSERT_TRUE(spool.Open(dir.value().path(), 0).ok());
  ASSERT_TRUE(spool.Add(1, "short").ok());
  ASSERT_TRUE(spool.Add(1, "longer than before").ok());
  EXPECT_EQ(spool.bytes(), 18u);
  ASSERT_TRUE(spool.Add(1, "").ok());
  EXPECT_EQ(spool.bytes(), 0u);
  spool.Remove(1);
  EXPECT_EQ(spool.bytes(), 0u);
}

// The daemon opens it again when it goes back to what it has saved, while its messages are sent.
TEST(SpoolTest, CanBeOpenedAgainWhileSomebodyReads) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-spool-");
  Spool spool;
  ASSERT_TRUE(spool.Open(dir.value().path() / "spool", 1).ok());
  ASSERT_TRUE(spool.Add(1, "one").ok());
  std::atomic<bool> end{false};
  std::thread reads([&] {
    while (!end) {
      const auto message = spool.Oldest();
      if (message) EXPECT_EQ(message->text, "one");
    }
  });
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(spool.Open(dir.value().path() / "spool", 1).ok());
  end = true;
  reads.join();
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
