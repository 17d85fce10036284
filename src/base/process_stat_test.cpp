// SPDX-License-Identifier: MIT
#include "base/process_stat.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace rochound::base {
namespace {

TEST(ProcessStat, FindsFieldsAfterANameWithAnythingInIt) {
  const auto stat = ParseProcessStat(
      "42 (a ) S (b) R 7 42 42 0 -1 4194304 1 2 3 4 150 25 6 7 20 0 1 0 98765 1000 10\n");
  if (!stat) FAIL() << "not understood";
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->processor_ticks, 175u);
  EXPECT_EQ(stat->start_ticks, 98765u);
}

TEST(ProcessStat, RefusesWhatIsCutOff) {
  EXPECT_FALSE(ParseProcessStat(""));
  EXPECT_FALSE(ParseProcessStat("42 (name"));
  EXPECT_FALSE(ParseProcessStat("42 (name) "));
  EXPECT_FALSE(ParseProcessStat("42 (name) R 7 42 42 0 -1 4194304 1 2 3 4 150 25"));
  EXPECT_FALSE(ParseProcessStat("42 (name) R parent 42 42 0 -1 0 1 2 3 4 1 2 6 7 20 0 1 0 9 1"));
}

TEST(ProcessStat, KnowsThisProcess) {
  const auto stat = ReadProcessStat(getpid());
  if (!stat) FAIL() << "not understood";
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->parent, getppid());
  EXPECT_GT(stat->start_ticks, 0u);
  EXPECT_FALSE(ReadProcessStat(-1));
}

}  // namespace
}  // namespace rochound::base
