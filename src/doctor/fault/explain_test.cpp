// SPDX-License-Identifier: MIT
//
// Records of faults that nobody of ours wrote.
#include "doctor/fault/explain.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/files.h"
#include "doctor/fault/record.h"

namespace rochound::doctor {
namespace {

class FaultRecords : public testing::Test {
 protected:
  FaultRecords() : folder_(base::TempDir::Create(testing::TempDir(), "fault-").value()) {}

  base::Result<FaultExplanation> Explain(const std::string& record) {
    const auto file = folder_.path() / "fault.json";
    EXPECT_TRUE(base::WriteFile(file, record).ok());
    return ExplainFault(file);
  }

  base::TempDir folder_;
};

std::string Record(const std::string& kind, int agent, const std::string& kernel) {
  return R"({"kind": ")" + kind + R"(", "agent": )" + std::to_string(agent) +
         R"(, "address": "0x1000", "reasons": ["page not present"], "status_text": "broken",
    "agents": [{"name": "gfx1030", "isa": "amdgcn-amd-amdhsa--gfx1030", "gpu": true}],
    "queues": [{"agent": )" +
         std::to_string(agent) + R"(, "failed": true, "front_ns": 9000000000, "under_way": [
      {"kernel": ")" +
         kernel +
         R"(", "kernarg": "0x0", "code_object": "", "grid": [64, 1, 1], "workgroup": [64, 1, 1],
       "group_bytes": 0, "private_bytes": 0, "kernarg_bytes": ""}]}],
    "memory": {"live": [], "freed": []}})";
}

TEST_F(FaultRecords, AGpuThatIsNotThereHasNoName) {
  for (const char* kind : {"memory", "queue", "hang"}) {
    for (const int agent : {-1, 0, 1, 7, 1 << 30}) {
      const auto explained = Explain(Record(kind, agent, "Guilty"));
      ASSERT_TRUE(explained.ok()) << explained.error().message;
      EXPECT_EQ(explained.value().gpu_name.empty(), agent != 0) << kind << " " << agent;
    }
  }
}

TEST_F(FaultRecords, NamesSteerNoTerminal) {
  for (const char* kind : {"memory", "queue", "hang"}) {
    const auto explained = Explain(Record(kind, 0, "Guilty\\u001b[2J\\u009b"));
    ASSERT_TRUE(explained.ok()) << explained.error().message;
    const std::string text = FaultText(explained.value());
    EXPECT_NE(text.find("Guilty"), std::string::npos) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << text;
  }
}

// The code object of a kernel (pointer, int) whose metadata says that the pointer is eight bytes
// before the arguments and that the int has all bytes there are.
std::string CodeWithArgumentsOutside() {
  auto read =
      base::ReadFile(std::filesystem::path(ROCHOUND_SOURCE) / "tests/fuzz/corpus/codeobj/gfx1030");
  EXPECT_TRUE(read.ok());
  std::string code = read.value();
  const auto replace = [&](std::string_view old, std::string_view with) {
    const size_t at = code.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    code.replace(at, old.size(), with);
  };
  using std::string_literals::operator""s;
  const size_t size = code.size();
  replace(
      "\x84\xae.address_space\xa6"
      "global",
      "\x83");
  replace("\xa7.offset\0"s, "\xa7.offset\xcf\xff\xff\xff\xff\xff\xff\xff\xf8");
  replace("\xa5.size\4", "\xa5.size\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
  // What follows the note stays where it was; bytes after the map are not looked at.
  const std::string_view last = "amdhsa.version\x92\1\2";
  replace(last, std::string(last) + std::string(size - code.size(), '\0'));
  return code;
}

TEST_F(FaultRecords, ArgumentsOutsideOfTheirSegmentAreExplained) {
  ASSERT_TRUE(
      base::WriteFile(folder_.path() / "fault-code-0.elf", CodeWithArgumentsOutside()).ok());
  std::string text = Record("memory", 0, "tiny");
  const auto replace = [&](std::string_view old, std::string_view with) {
    text.replace(text.find(old), old.size(), with);
  };
  replace(R"("code_object": "")", R"("code_object": "fault-code-0.elf")");
  replace(R"("kernarg_bytes": "")", R"("kernarg_bytes": "0010000000000000")");
  const auto explained = Explain(text);
  ASSERT_TRUE(explained.ok()) << explained.error().message;
  const auto record = ReadFaultRecord(folder_.path() / "fault.json");
  ASSERT_TRUE(record.ok()) << record.error().message;
  const FaultDispatch& dispatch = record.value().queues.at(0).under_way.at(0);
  ASSERT_GT(dispatch.arguments.size(), 1u) << dispatch.no_code;
  EXPECT_EQ(dispatch.arguments[0].value, 0u);
  EXPECT_LT(dispatch.arguments.size(), 1000u);
}

TEST_F(FaultRecords, WhatIsNoRecordIsRefusedInWords) {
  for (const char* text :
       {"", "{", "[]", "{}", "null", R"({"kind": 7})", R"({"kind": "memory"})"}) {
    const auto explained = Explain(text);
    ASSERT_FALSE(explained.ok()) << text;
    EXPECT_EQ(explained.error().message.find("json.exception"), std::string::npos)
        << explained.error().message;
    EXPECT_NE(explained.error().message.find("not the record of a fault"), std::string::npos)
        << explained.error().message;
  }
}

TEST_F(FaultRecords, AFifoIsRefusedAtOnce) {
  const auto file = folder_.path() / "fault.json";
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  alarm(20);  // nobody writes into it
  const auto explained = ExplainFault(file);
  alarm(0);
  ASSERT_FALSE(explained.ok());
  EXPECT_NE(explained.error().message.find("not a regular file"), std::string::npos)
      << explained.error().message;
}

TEST_F(FaultRecords, ATraceIsToldFromARecord) {
  const auto trace = folder_.path() / "trace.rpd";
  ASSERT_TRUE(base::WriteFile(trace, std::string("SQLite format 3\0\x10", 17)).ok());
  const auto none = ExplainFault(trace);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("is a trace, and no GPU failed in it"), std::string::npos)
      << none.error().message;
  std::filesystem::create_directory(folder_.path() / "trace.rpd.fault");
  const auto beside = ExplainFault(trace);
  ASSERT_FALSE(beside.ok());
  EXPECT_NE(beside.error().message.find("rochound doctor --fault '" + trace.string() + ".fault'"),
            std::string::npos)
      << beside.error().message;
}

}  // namespace
}  // namespace rochound::doctor
