// SPDX-License-Identifier: MIT
#include "report/html.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "report/profile_part.h"
#include "report/timeline_pack.h"

namespace rochound::report {
namespace {

using analysis::Timeline;
using analysis::TimelineTrack;

TEST(TimelinePackTest, ColumnsInSevenBits) {
  Timeline timeline;
  timeline.tracks = {{.gpu = 0, .title = "Queue 1", .group = "GPU 0", .rows = {2}},
                     {.kind = TimelineTrack::Kind::kThread,
                      .title = "Thread 1",
                      .group = "process 1",
                      .rows = {1}}};
  timeline.events = {{100, 300, 7, 2, 1, 1}, {310, 320, 6, -1, 0, 5}, {90, 95, 9, -1, 2, 1}};
  timeline.events[0].shape = 3;
  const std::string packed = PackColumns(timeline);
  const std::string expected{
      100,
      10,
      90,  // starts
      static_cast<char>(0xC8),
      1,
      10,
      5,  // durations: 200, 10, 5
      1,
      0,
      2,  // names
      14,
      1,
      6,  // ids: +7, -1, +3
      0,
      4,
      0,  // merged, less one
      6,
      5,
      0,  // launches: +3, -3, 0
      3,
      0,
      0,  // shapes
  };
  EXPECT_EQ(packed, expected);
}

TEST(TimelinePackTest, Base64) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("M"), "TQ==");
  EXPECT_EQ(Base64("Ma"), "TWE=");
  EXPECT_EQ(Base64("Man"), "TWFu");
  EXPECT_EQ(Base64(std::string("\xFF\xFE\xFD\x00", 4)), "//79AA==");
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HtmlTest, NamesAreNeverMarkup) {
  const std::string evil = "</script><script>alert(1)</script><!--&\xFF\xE2\x80\xA8\"'";
  HtmlContent plain, content;
  content.title = evil;
  content.sources = {evil};
  content.doubts = {evil};
  content.timeline.names = {evil};
  content.timeline.tracks = {{.gpu = 0, .title = evil, .group = evil, .note = evil, .rows = {1}}};
  content.timeline.events = {{0, 10, 1, -1, 0, 1}};
  content.flame.names = {evil};
  content.answers = {
      {evil, {}, {evil}, {{evil, evil, {analysis::MakeColumn(evil, false)}, {{evil}}, 0}}}};
  const std::string html = Html(content);
  EXPECT_EQ(Count(html, "<script"), Count(Html(plain), "<script"));
  EXPECT_EQ(Count(html, "</script"), Count(Html(plain), "</script"));
  EXPECT_EQ(Count(html, "<!--"), 0U);
  EXPECT_NE(html.find("\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"), std::string::npos);
}

TEST(HtmlTest, FilesOfAProfileAreLookedAtFirst) {
  const auto folder = base::TempDir::Create(testing::TempDir(), "report-profile-");
  ASSERT_TRUE(folder.ok());
  const std::filesystem::path& path = folder.value().path();
  EXPECT_NE(ReadProfile(path).error().message.find("rochound profile -o"), std::string::npos);
  const auto read = [&](const char* name, const std::string& text) {
    EXPECT_TRUE(base::WriteFileAtomically(path / name, text).ok());
    return ReadProfile(path);
  };
  const std::string good = R"({"format":"rochound roofline","version":1,"kernels":[]})";
  EXPECT_FALSE(read("roofline.json", "{").ok());
  EXPECT_FALSE(read("roofline.json", R"(["rochound roofline"])").ok());
  EXPECT_FALSE(read("roofline.json", R"({"format":7,"version":1,"kernels":[]})").ok());
  EXPECT_FALSE(read("roofline.json", R"({"format":"rochound roofline","version":2})").ok());
  EXPECT_FALSE(read("roofline.json", R"({"format":"rochound roofline","version":1})").ok());
  const auto one = read("roofline.json", good);
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_EQ(one.value(), R"({"roofline":)" + good + R"(,"analysis":null,"thread_trace":null})");
  EXPECT_FALSE(read("analysis.json", good).ok());
}

TEST(HtmlTest, NothingIsFetched) {
  const std::string html = Html({});
  EXPECT_NE(html.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(Count(html, "<link"), 0U);
  EXPECT_EQ(Count(html, "src=\"http"), 0U);
}

TEST(HtmlTest, LargeNumbersStayExact) {
  HtmlContent content;
  content.answers = {
      {"q",
       {},
       {},
       {{"t", "T", {analysis::MakeColumn("id", true)}, {{int64_t{1} << 60}, {7L}}, 3}}}};
  const std::string html = Html(content);
  EXPECT_NE(html.find(R"("rows":[["1152921504606846976"],[7]],"left_out":3)"), std::string::npos);
}

}  // namespace
}  // namespace rochound::report
