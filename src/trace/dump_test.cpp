// SPDX-License-Identifier: MIT
#include "trace/dump.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "trace/writer.h"

namespace rochound::trace {
namespace {

TEST(Descriptions, DescribeEveryKindOnceAndEveryByteAtMostOnce) {
  std::set<std::string> names;
  for (size_t kind = 1; kind < kKinds; ++kind) {
    const Description* description = kDescriptions[kind];
    ASSERT_NE(description, nullptr) << kind;
    EXPECT_EQ(static_cast<size_t>(description->kind), kind);
    EXPECT_TRUE(names.insert(description->name).second) << description->name;
    std::vector<const char*> owner(description->size);
    for (size_t i = 0; i < description->field_count; ++i) {
      const Field& field = description->fields[i];
      ASSERT_GE(field.offset, 2) << description->name << "." << field.name;
      ASSERT_LE(field.offset + field.size * field.count, description->size);
      for (size_t byte = 0; byte < size_t{field.size} * field.count; ++byte) {
        EXPECT_EQ(owner[field.offset + byte], nullptr) << description->name << "." << field.name;
        owner[field.offset + byte] = field.name;
      }
    }
  }
  EXPECT_EQ(Describe(static_cast<Kind>(kKinds)), nullptr);
}

// The page says how to write a reader; its tables are the output of `rochound log describe`.
TEST(Descriptions, AreInTheFormatsPage) {
  const std::string page = base::ReadFile(ROCHOUND_TEST_FORMAT_PAGE).value();
  EXPECT_NE(page.find(DescribeRecords()), std::string::npos)
      << "docs/formats/flight-log.md is out of date: replace its record tables with the output of "
         "rochound log describe";
}

TEST(JsonString, IsValidWhateverTheBytes) {
  const auto json = [](std::string_view text) {
    std::string line;
    AppendJsonString(text, &line);
    return line;
  };
  EXPECT_EQ(json("a\"b\\c\n"), R"("a\"b\\c\u000a")");
  EXPECT_EQ(json("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xba"),
            "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xba\"");
  EXPECT_EQ(json("\x1b\xc2\x9b\xc2\xa0"), "\"\\u001b\\u009b\xc2\xa0\"") << "steers terminals";
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(json("\xff"), "\"" + bad + "\"");
  EXPECT_EQ(json("\xc3"), "\"" + bad + "\"") << "cut";
  EXPECT_EQ(json("\xc0\x80"), "\"" + bad + bad + "\"") << "overlong";
  EXPECT_EQ(json("\xed\xa0\x80"), "\"" + bad + bad + bad + "\"") << "surrogate";
}

class DumpTest : public testing::Test {
 protected:
  DumpTest() : dir_(base::TempDir::Create(testing::TempDir(), "rochound-dump-").value()) {
    const std::string run = (dir_.path() / "run").string();
    writer_ = Writer::Open({.directory = run}, nullptr);
    writer_->WriteText("info", "pid=1\n");
    writer_->WriteText("functions", "7\thip\thipMemcpy\ti32\tdst:ptr\n");
    log_ = writer_->Attach();
  }

  // The last record's line, from its name on.
  std::string Last(bool json) const {
    const auto read = ProcessLog::Open(writer_->process_directory());
    EXPECT_TRUE(read.ok());
    RecordText text(*read.value());
    std::string line;
    read.value()->ForEachRecord([&](const Thread& thread, const Head& head, const char* record) {
      line.clear();
      json ? text.AppendJson(thread, head, record, &line)
           : text.AppendLine(thread, head, record, &line);
      return true;
    });
    return json ? line.substr(line.find("\"record\"")) : line.substr(line.find(' ') + 1);
  }

  base::TempDir dir_;
  Writer* writer_ = nullptr;
  ThreadLog* log_ = nullptr;
};

TEST_F(DumpTest, NoKeyOfAJsonObjectIsRepeated) {
  auto* end = log_->Reserve<ThreadEnd>();  // after the record that says whose it is
  end->now_tsc = 1;
  log_->Commit(end);
  const auto read = ProcessLog::Open(writer_->process_directory());
  ASSERT_TRUE(read.ok());
  RecordText text(*read.value());
  size_t lines = 0;
  read.value()->ForEachRecord([&](const Thread& thread, const Head& head, const char* record) {
    std::string line;
    text.AppendJson(thread, head, record, &line);
    ++lines;
    std::set<std::string> keys;
    for (size_t at = 0; (at = line.find("\":", at)) != std::string::npos; ++at) {
      const size_t start = line.rfind('"', at - 1) + 1;
      EXPECT_TRUE(keys.insert(line.substr(start, at - start)).second) << line;
    }
    return true;
  });
  EXPECT_GE(lines, 4u);
}

TEST_F(DumpTest, NamesFunctionsAndShowsTimesSinceTheFirstRecord) {
  auto* call = log_->Reserve<ApiCall>();
  call->begin_tsc = call->end_tsc = __builtin_ia32_rdtsc();
  call->correlation = log_->NextCorrelation();
  log_->Commit(call, 7, 1);
  const std::string thread = std::to_string(log_->index());
  EXPECT_EQ(Last(false),
            "call function=hipMemcpy result=1 begin_tsc=+0.000000000 "
            "end_tsc=+0.000000000 correlation=" +
                thread + ":1");
  EXPECT_EQ(Last(true).find(R"("record":"call","function":"hipMemcpy","result":1,"begin_tsc":)"),
            0u);
}

TEST_F(DumpTest, ShowsPartsOfTheHeadTextAndArraysAsLongAsTheyAre) {
  auto* text = log_->Reserve<TextPiece>();
  text->correlation = 1;
  text->total = 50;
  memcpy(text->text, "hello world, not shown", 23);
  log_->Commit(text, 3 << 8 | 5, 40);
  EXPECT_EQ(Last(false),
            R"(text bytes=5 argument=3 offset=40 correlation=0:1 total=50 text="hello")");
  EXPECT_EQ(Last(true), R"("record":"text","bytes":5,"argument":3,"offset":40,"correlation":1,)"
                        R"("total":50,"text":"hello"})");

  auto* arguments = log_->Reserve<ApiArguments>();
  arguments->correlation = 1;
  for (uint64_t i = 0; i < 6; ++i) arguments->words[i] = i + 10;
  log_->Commit(arguments, 2, 0);
  EXPECT_EQ(Last(false), "arguments count=2 first=0 correlation=0:1 words=0xa,0xb");
  EXPECT_EQ(Last(true), R"("record":"arguments","count":2,"first":0,"correlation":1,)"
                        R"("words":[10,11]})");
}

TEST_F(DumpTest, ShowsStringsAndNamesOfValues) {
  auto* range = log_->Reserve<Range>();
  range->now_tsc = 0;
  range->range = 4;
  range->correlation = 0;
  log_->Commit(range, static_cast<uint16_t>(RangeKind::kPush), writer_->Intern("say \"hi\""));
  EXPECT_NE(Last(false).find(R"(range kind=push message="say \"hi\"" )"), std::string::npos);
  auto* dropped = log_->Reserve<Dropped>();
  dropped->records = 4;
  dropped->now_tsc = 0;
  log_->Commit(dropped, 99);
  EXPECT_NE(Last(false).find("reason=99 records=4"), std::string::npos);
}

}  // namespace
}  // namespace rochound::trace
