// SPDX-License-Identifier: MIT
//
// Records of faults that nobody of ours wrote.
#include "doctor/fault/explain.h"

#include <gtest/gtest.h>

#include "base/files.h"

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
