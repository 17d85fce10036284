// SPDX-License-Identifier: MIT
#include "mcp/page.h"

#include <gtest/gtest.h>

namespace rochound::mcp {
namespace {

Json Numbers(size_t count) {
  Json list = Json::array();
  for (size_t i = 0; i < count; ++i) list.push_back(i);
  return list;
}

TEST(PageTest, PagesTogetherAreTheWhole) {
  const Json whole = {{"name", "x"},
                      {"tables", {{"a", {{"rows", Numbers(123)}}}, {"b", Numbers(7)}}}};
  Json a = Json::array(), b = Json::array();
  size_t pages = 0;
  for (size_t offset = 0; pages == 0 || offset != 0; ++pages) {
    const Page page = CutPage(whole, offset, 50);
    EXPECT_EQ(page.total, 123);
    EXPECT_EQ(page.content["name"], "x");
    for (const Json& row : page.content["tables"]["a"]["rows"]) a.push_back(row);
    for (const Json& row : page.content["tables"]["b"]) b.push_back(row);
    offset = page.next;
  }
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(a, Numbers(123));
  EXPECT_EQ(b, Numbers(7));
}

TEST(PageTest, AnArrayOfOneObjectIsNoList) {
  const Json whole = {{"gpus", {{{"facts", Numbers(60)}}}}};
  const Page page = CutPage(whole, 0, 10);
  EXPECT_EQ(page.content["gpus"][0]["facts"], Numbers(10));
  EXPECT_EQ(page.next, 10);
}

TEST(PageTest, LargeEntriesMakeSmallPages) {
  Json list = Json::array();
  for (int i = 0; i < 100; ++i) list.push_back(std::string(3000, 'x'));
  const Page page = CutPage({{"rows", list}}, 0, 100);
  EXPECT_LE(page.content.dump().size(), kMostPage);
  EXPECT_GT(page.content["rows"].size(), 1);
  EXPECT_EQ(page.next, page.content["rows"].size());
  EXPECT_FALSE(page.cut);
}

TEST(PageTest, AnEntryThatIsTooLargeIsCut) {
  Json list = Json::array();
  for (int i = 0; i < 2; ++i)
    list.push_back({{"inner", Numbers(20000)}, {"text", std::string(100000, 'x')}});
  const Page page = CutPage({{"rows", list}}, 0, 50);
  EXPECT_TRUE(page.cut);
  EXPECT_LE(page.content.dump().size(), kMostPage);
  EXPECT_EQ(page.content["rows"][0]["inner"][0], 0);
  EXPECT_EQ(page.next, 1);
}

TEST(PageTest, TextsAreCutBetweenCharacters) {
  std::string text;
  while (text.size() < 20000) text += "\xe2\x82\xac";
  const Page page = CutPage({{"log", text}}, 0, 50);
  EXPECT_TRUE(page.cut);
  EXPECT_NO_THROW((void)page.content.dump());
  EXPECT_NE(page.content["log"].get<std::string>().find("bytes more)"), std::string::npos);
}

TEST(PageTest, WhatHasNoListsHasOnePage) {
  for (const Json& whole : {Json(7), Json(nullptr), Json::object(), Json::array()}) {
    const Page page = CutPage(whole, 0, 50);
    EXPECT_EQ(page.content, whole);
    EXPECT_EQ(page.next, 0);
    EXPECT_EQ(CutPage(whole, 1000000, 50).next, 0);
  }
}

TEST(PageTest, OfManyBranchesNothingExplodes) {
  Json whole = Json::object();
  for (int i = 0; i < 1000; ++i) whole["key" + std::to_string(i)] = std::string(100, 'x');
  const Page page = CutPage(whole, 0, 50);
  EXPECT_LE(page.content.dump().size(), kMostPage);
  EXPECT_TRUE(page.cut);
}

TEST(CursorTest, OnlyWhatWasMadeIsOne) {
  const auto cursor = ParseCursor(CursorText({12, 345}));
  ASSERT_TRUE(cursor);
  EXPECT_EQ(cursor->number, 12);
  EXPECT_EQ(cursor->offset, 345);
  for (const char* const text : {"", ".", "1.", ".1", "1", "-1.2", "1.-2", "1.2.3", "1.2x", " 1.2",
                                 "99999999999999999999.1"})
    EXPECT_FALSE(ParseCursor(text)) << text;
}

TEST(KeptAnswersTest, TheOldestGo) {
  KeptAnswers kept;
  const uint64_t first = kept.Keep({"a", "{}", 0, "1", {}});
  EXPECT_EQ(kept.Find(first)->result, "1");
  uint64_t last = 0;
  for (size_t i = 0; i < KeptAnswers::kMostAnswers; ++i) last = kept.Keep({"b", "{}", 0, "2", {}});
  EXPECT_FALSE(kept.Find(first));
  EXPECT_TRUE(kept.Find(last));
  const std::string large(KeptAnswers::kMostBytes / 2 + 1, 'x');
  const uint64_t one = kept.Keep({"c", "{}", 0, large, {}});
  const uint64_t two = kept.Keep({"c", "{}", 0, large, {}});
  EXPECT_FALSE(kept.Find(one));
  EXPECT_FALSE(kept.Find(last));
  EXPECT_TRUE(kept.Find(two));
}

}  // namespace
}  // namespace rochound::mcp
