// SPDX-License-Identifier: MIT
#include "launch/output_name.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace rochound::launch {
namespace {

class OutputNameTest : public testing::Test {
 protected:
  OutputNameTest() {
    for (const char* variable : kRankVariables) unsetenv(variable);
  }
};

TEST_F(OutputNameTest, IsFilledInByEachRank) {
  setenv("SLURM_PROCID", "17", 1);
  EXPECT_EQ(FillOutputName("logs/%r").value(), "logs/17");
  setenv("ROCHOUND_RANK", "3", 1);
  EXPECT_EQ(FillOutputName("%r-%p.rpd").value(), "3-" + std::to_string(getpid()) + ".rpd");
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  EXPECT_EQ(FillOutputName("%h").value(), host);
}

TEST_F(OutputNameTest, LeavesOtherNamesAlone) {
  for (const char* name : {"", "trace.rpd", "50%", "a %d b", "%"})
    EXPECT_EQ(FillOutputName(name).value(), name);
  EXPECT_EQ(FillOutputName("50%%r").value(), "50%r");
}

TEST_F(OutputNameTest, SaysWhereARankCouldComeFrom) {
  setenv("RANK", "../../x", 1);
  const auto filled = FillOutputName("logs/%r");
  ASSERT_FALSE(filled.ok());
  EXPECT_NE(filled.error().message.find("SLURM_PROCID"), std::string::npos);
}

}  // namespace
}  // namespace rochound::launch
