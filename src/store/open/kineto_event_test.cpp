// SPDX-License-Identifier: MIT
#include "store/open/kineto_event.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "store/export/output_file.h"
#include "store/open/inflating_file.h"
#include "store/open/json_splitter.h"

namespace rochound::store {
namespace {

struct Split {
  std::vector<std::string> events;
  std::vector<std::pair<std::string, std::string>> members;
  uint64_t malformed = 0;
  bool found = false;
  bool cut_off = false;
};

// In pieces of every size, which must not matter.
Split SplitText(const std::string& text, size_t piece) {
  Split split;
  JsonSplitter splitter([&](std::string_view event) { split.events.emplace_back(event); },
                        [&](std::string_view name, std::string_view value) {
                          split.members.emplace_back(name, value);
                        });
  for (size_t at = 0; at < text.size(); at += piece)
    splitter.Feed(std::string_view(text).substr(at, piece));
  splitter.End();
  split.malformed = splitter.malformed();
  split.found = splitter.found_events();
  split.cut_off = splitter.cut_off();
  return split;
}

using Members = std::vector<std::pair<std::string, std::string>>;
using Events = std::vector<std::string>;

TEST(JsonSplitter, CutsObjectsAndKeepsMembers) {
  const std::string text =
      " {\"a\": {\"b\": [1, \"}\"]}, \"traceEvents\": [ {\"ph\":\"X\",\"name\":\"a\\\"}{[\"}\n,\n"
      "{\"args\":{\"x\":[{}]}} ], \"last\":\"x,y\" }";
  for (const size_t piece : {1, 2, 3, 7, 1000}) {
    const Split split = SplitText(text, piece);
    EXPECT_EQ(split.events,
              (Events{"{\"ph\":\"X\",\"name\":\"a\\\"}{[\"}", "{\"args\":{\"x\":[{}]}}"}));
    EXPECT_EQ(split.members, (Members{{"a", "{\"b\": [1, \"}\"]}"}, {"last", "\"x,y\""}}));
    EXPECT_TRUE(split.found);
    EXPECT_FALSE(split.cut_off);
    EXPECT_EQ(split.malformed, 0u);
  }
}

TEST(JsonSplitter, TakesBareArraysThatAreNotClosed) {
  const Split split = SplitText("[{\"ph\":\"B\"},{\"ph\":\"E\"},", 4);
  EXPECT_EQ(split.events.size(), 2u);
  EXPECT_FALSE(split.cut_off);
  EXPECT_TRUE(SplitText("[{\"ph\":\"B\"},{\"ph\":", 4).cut_off);
  EXPECT_FALSE(SplitText("{\"x\": 1}", 4).found);
  EXPECT_FALSE(SplitText("hello", 4).found);
}

TEST(JsonSplitter, FindsItsWayBack) {
  // A quote too many swallows what follows up to the line's end; the events after are good again.
  const std::string text =
      "{\"traceEvents\": [\n{\"ph\":\"X\",\"name\":\"a \"b\"},\n{\"ph\":\"X\",\"name\":\"c\"},\n"
      "17,\n{ \"ph\":\"X\",\"name\":\"d\"}\n]}";
  for (const size_t piece : {1, 5, 1000}) {
    const Split split = SplitText(text, piece);
    EXPECT_EQ(split.events,
              (Events{"{\"ph\":\"X\",\"name\":\"c\"}", "{\"ph\":\"X\",\"name\":\"d\"}"}));
    EXPECT_EQ(split.malformed, 2u);
    EXPECT_FALSE(split.cut_off);
  }
}

TEST(JsonSplitter, DoesNotGatherWithoutEnd) {
  std::string text = "[{\"ph\":\"X\",\"name\":\"" + std::string(JsonSplitter::kMaxPiece, 'x') +
                     "\"},{\"ph\":\"X\"}]";
  const Split split = SplitText(text, 1 << 16);
  EXPECT_EQ(split.events, (Events{"{\"ph\":\"X\"}"}));
  EXPECT_EQ(split.malformed, 1u);
}

TEST(Kineto, TimesAreExact) {
  const auto ns = NanosecondsOfMicroseconds;
  EXPECT_EQ(ns("0"), 0);
  EXPECT_EQ(ns("12"), 12000);
  EXPECT_EQ(ns("12.3"), 12300);
  EXPECT_EQ(ns("12.345"), 12345);
  EXPECT_EQ(ns("12.3459"), 12345);
  EXPECT_EQ(ns("-1.5"), -1500);
  EXPECT_EQ(ns("1700000000123456.789"), 1700000000123456789);
  EXPECT_EQ(ns("1.5e3"), 1500000);
  EXPECT_EQ(ns("4611686018427387.904"), int64_t{1} << 62);
  EXPECT_FALSE(ns("99999999999999999999"));
  EXPECT_FALSE(ns("1e30"));
  EXPECT_FALSE(ns("1e-"));
  EXPECT_FALSE(ns(""));
  EXPECT_FALSE(ns("-"));
  EXPECT_FALSE(ns("true"));
}

TEST(Kineto, ReadsAnEvent) {
  KinetoParser parser;
  KinetoEvent event;
  ASSERT_TRUE(parser.Parse(
      R"({ "ph": "X", "cat": "kernel", "name": "a\u0041\n\u0000", "pid": 3, "tid": "7", "ts": 1.5, "dur": 2,
           "args": { "grid": [2,3 , 4], "block":[64], "External id": 5, "text":"a \"b\"", "bytes":1.5e3,
                     "Input Dims": [[1,
                        2],[]] }, "other": {"deep": [1]} })",
      &event));
  EXPECT_EQ(event.phase, 'X');
  EXPECT_EQ(event.name, "aA\n?");
  EXPECT_EQ(event.pid, 3);
  EXPECT_EQ(event.tid, 7);
  EXPECT_EQ(event.start, 1500);
  EXPECT_EQ(event.duration, 2000);
  EXPECT_EQ(event.Number("External id"), 5);
  EXPECT_EQ(event.Number("bytes"), 1500);
  EXPECT_FALSE(event.Number("text"));
  EXPECT_EQ(*event.Find("text"), "a \"b\"");
  EXPECT_EQ(*event.Find("Input Dims"), "[[1, 2], []]");
  EXPECT_EQ(event.Find("none"), nullptr);
  int64_t size[3];
  ASSERT_TRUE(event.Dimensions("grid", size));
  EXPECT_EQ(size[0] * 100 + size[1] * 10 + size[2], 234);
  ASSERT_TRUE(event.Dimensions("block", size));
  EXPECT_EQ(size[0] * 100 + size[1] * 10 + size[2], 6411);
  EXPECT_FALSE(event.Dimensions("text", size));

  // Nothing of one event is left in the next.
  ASSERT_TRUE(parser.Parse(R"({"ph":"i","pid":"Traces"})", &event));
  EXPECT_FALSE(event.pid);
  EXPECT_EQ(event.pid_text, "Traces");
  EXPECT_FALSE(event.start);
  EXPECT_EQ(event.Find("grid"), nullptr);
}

TEST(Kineto, RefusesWhatIsNoEvent) {
  KinetoParser parser;
  KinetoEvent event;
  for (const char* text :
       {"", "{}", "{", "[]", "17", "{\"ph\":\"X\"", "{\"ph\":\"X\"}}", "{\"ph\":\"X\",}",
        "{\"ph\":\"X\" \"name\":1}", "{\"ph\":\"X\",\"args\":[1]}", "{\"ph\":\"XX\"}",
        "{\"ph\":\"X\",\"args\":{\"a\":tru}}extra", "{\"name\":\"a\"}"})
    EXPECT_FALSE(parser.Parse(text, &event)) << text;
  // A byte that is no UTF-8 costs its character, not the event.
  ASSERT_TRUE(parser.Parse("{\"ph\":\"X\",\"name\":\"a\xff\xc3(\xe2\x82\xac\"}", &event));
  EXPECT_EQ(event.name, "a\xef\xbf\xbd\xef\xbf\xbd(\xe2\x82\xac");
}

TEST(InflatingFile, ReadsPlainAndPackedAlike) {
  base::TempDir folder = base::TempDir::Create("/tmp", "rochound-inflate-").value();
  std::string text;
  for (int i = 0; i < 300000; ++i) text += std::to_string(i * 7919LL % 1000003) + ",";
  for (const char* name : {"plain", "packed.gz"}) {
    OutputFile output = OutputFile::Create(folder.path() / name).value();
    for (const char c : text) {
      output.buffer()->push_back(c);
      output.Written();
    }
    ASSERT_TRUE(output.Finish().ok());
  }
  const std::string packed = base::ReadFile(folder.path() / "packed.gz").value();
  EXPECT_LT(packed.size(), text.size() / 2);
  ASSERT_TRUE(
      base::WriteFile(folder.path() / "twice", packed + packed + std::string(512, '\0')).ok());
  ASSERT_TRUE(base::WriteFile(folder.path() / "empty", "").ok());
  const auto read = [&](const char* name, std::string* error) {
    InflatingFile file = InflatingFile::Open(folder.path() / name).value();
    std::string all;
    while (true) {
      const auto piece = file.Next();
      if (!piece.ok()) {
        *error = piece.error().message;
        break;
      }
      if (piece.value().empty()) break;
      all += piece.value();
    }
    return all;
  };
  std::string error;
  EXPECT_TRUE(read("plain", &error) == text);
  EXPECT_TRUE(read("packed.gz", &error) == text);
  EXPECT_TRUE(read("twice", &error) == text + text);
  EXPECT_EQ(read("empty", &error), "");
  EXPECT_EQ(error, "");

  ASSERT_TRUE(base::WriteFile(folder.path() / "cut", packed.substr(0, packed.size() / 2)).ok());
  const std::string part = read("cut", &error);
  EXPECT_GT(part.size(), text.size() / 4);
  EXPECT_TRUE(text.starts_with(part));
  EXPECT_NE(error.find("cut off"), std::string::npos);
  std::string damaged = packed;
  for (size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i) damaged[i] = '\x55';
  ASSERT_TRUE(base::WriteFile(folder.path() / "damaged", damaged).ok());
  error.clear();
  EXPECT_GT(read("damaged", &error).size(), 1000u);
  EXPECT_NE(error.find("damaged"), std::string::npos);
}

}  // namespace
}  // namespace rochound::store
