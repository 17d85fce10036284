// SPDX-License-Identifier: MIT
#include "fleet/history/kernel_diff.h"

#include <gtest/gtest.h>

#include <random>

namespace rochound::fleet {
namespace {

using Lines = std::vector<std::string>;

// Both sides can be read back from what the list says; returns the number of changes.
size_t Verify(const Lines& before, const Lines& after, const std::vector<DiffLine>& lines) {
  Lines left, right;
  size_t changes = 0;
  for (const DiffLine& line : lines) {
    if (line.kind != DiffLine::Kind::kAdded) left.push_back(line.before);
    if (line.kind != DiffLine::Kind::kRemoved) right.push_back(line.after);
    EXPECT_TRUE(line.kind != DiffLine::Kind::kSame || line.before == line.after);
    changes += line.kind == DiffLine::Kind::kSame      ? 0
               : line.kind == DiffLine::Kind::kChanged ? 2
                                                       : 1;
  }
  EXPECT_EQ(left, before);
  EXPECT_EQ(right, after);
  return changes;
}

// The least number of removals and additions, by the textbook's table.
size_t Least(const Lines& a, const Lines& b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0)
        table[i][j] = i + j;
      else if (a[i - 1] == b[j - 1])
        table[i][j] = table[i - 1][j - 1];
      else
        table[i][j] = 1 + std::min(table[i - 1][j], table[i][j - 1]);
    }
  return table[a.size()][b.size()];
}

TEST(KernelDiffTest, EmptyAndEqual) {
  EXPECT_TRUE(DiffLines({}, {}).empty());
  EXPECT_EQ(Verify({"a"}, {}, DiffLines({"a"}, {})), 1u);
  EXPECT_EQ(Verify({}, {"a", "b"}, DiffLines({}, {"a", "b"})), 2u);
  EXPECT_EQ(Verify({"a", "b"}, {"a", "b"}, DiffLines({"a", "b"}, {"a", "b"})), 0u);
}

TEST(KernelDiffTest, ChangesAreAsFewAsPossible) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    Lines before, after;
    for (uint32_t i = random() % 40; i > 0; --i)
      before.emplace_back(1, static_cast<char>('a' + random() % 4));
    after = before;
    for (uint32_t edits = random() % 12; edits > 0; --edits) {
      const size_t at = random() % (after.size() + 1);
      if (random() % 2 == 0 || at == after.size())
        after.insert(after.begin() + static_cast<ptrdiff_t>(at),
                     std::string(1, static_cast<char>('a' + random() % 4)));
      else
        after.erase(after.begin() + static_cast<ptrdiff_t>(at));
    }
    EXPECT_EQ(Verify(before, after, DiffLines(before, after)), Least(before, after));
  }
}

TEST(KernelDiffTest, TooManyChangesAreOneChange) {
  Lines before = {"same"}, after = {"same"};
  for (int i = 0; i < 100; ++i) {
    before.push_back("b" + std::to_string(i));
    after.push_back("a" + std::to_string(i));
  }
  before.emplace_back("end");
  after.emplace_back("end");
  const auto lines = DiffLines(before, after, 10);
  EXPECT_EQ(Verify(before, after, lines), 200u);
  EXPECT_EQ(lines.front().kind, DiffLine::Kind::kSame);
  EXPECT_EQ(lines.back().kind, DiffLine::Kind::kSame);
}

}  // namespace
}  // namespace rochound::fleet
