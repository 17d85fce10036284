// SPDX-License-Identifier: MIT
#include "codeobj/cache_list.h"

#include <gtest/gtest.h>

namespace rochound::codeobj {
namespace {

TEST(CacheList, ReadsWhatItWrites) {
  const CacheEntry entry{3, "_Z3addPfi", "add", "/log/swap/1.co", "/cache/a b.hsaco"};
  std::string line = CacheLine(entry);
  ASSERT_EQ(line.back(), '\n');
  line.pop_back();
  const auto read = ReadCacheLine(line);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->round, 3u);
  EXPECT_EQ(read->symbol, entry.symbol);
  EXPECT_EQ(read->called, entry.called);
  EXPECT_EQ(read->object, entry.object);
  EXPECT_EQ(read->file, entry.file);
}

TEST(CacheList, HasNoRoomForTabsAndNewlines) {
  EXPECT_EQ(CacheLine({1, "a", "a", "/tmp/a\tb", "x"}), "");
  EXPECT_EQ(CacheLine({1, "a\n", "a", "/tmp/a", "x"}), "");
}

TEST(CacheList, RefusesOtherLines) {
  for (const char* line :
       {"", "1", "1\ta\tb\tc", "1\ta\tb\tc\td\te", "x\ta\tb\tc\td", "\ta\tb\tc\td"})
    EXPECT_FALSE(ReadCacheLine(line).has_value()) << line;
}

TEST(CacheList, LeavesParametersOut) {
  EXPECT_EQ(WithoutParameters("add(float*, int)"), "add");
  EXPECT_EQ(WithoutParameters("void shapes::Reduce<float>(float const*, void (*)(int))"),
            "void shapes::Reduce<float>");
  EXPECT_EQ(WithoutParameters("(anonymous namespace)::add(int)"), "(anonymous namespace)::add");
  EXPECT_EQ(WithoutParameters("plain"), "plain");
  EXPECT_EQ(WithoutParameters("odd)"), "odd)");
}

}  // namespace
}  // namespace rochound::codeobj
