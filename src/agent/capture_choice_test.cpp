// SPDX-License-Identifier: MIT
#include "agent/capture_choice.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>
#include <memory>
#include <string>

namespace rochound::agent {
namespace {

std::unique_ptr<const CaptureChoice> Choice(const std::map<std::string, std::string>& variables,
                                            std::string* problem) {
  for (const char* name : {"DIR", "KERNEL", "NTH", "DISPATCH", "SHAPE", "MEMORY"}) {
    const std::string variable = std::string("ROCHOUND_CAPTURE_") + name;
    const auto value = variables.find(name);
    if (value == variables.end())
      unsetenv(variable.c_str());
    else
      setenv(variable.c_str(), value->second.c_str(), 1);
  }
  return CaptureChoice::FromEnvironment(problem);
}

hsa_kernel_dispatch_packet_t Packet(uint32_t grid, uint16_t workgroup) {
  hsa_kernel_dispatch_packet_t packet{};
  packet.grid_size_x = grid;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.workgroup_size_x = workgroup;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  return packet;
}

TEST(CaptureChoiceTest, NothingIsWantedWithoutAFolder) {
  std::string problem;
  EXPECT_EQ(Choice({{"KERNEL", "add"}}, &problem), nullptr);
  EXPECT_EQ(problem, "");
}

TEST(CaptureChoiceTest, NamesMatchAsSymbolsAndAsReadableNames) {
  std::string problem;
  const auto choice = Choice({{"DIR", "d"}, {"KERNEL", "Add\\(float"}}, &problem);
  ASSERT_NE(choice, nullptr) << problem;
  EXPECT_TRUE(choice->NameMatches("_Z9VectorAddPf"));
  EXPECT_FALSE(choice->NameMatches("_Z9VectorAddPi"));
  const auto symbol = Choice({{"DIR", "d"}, {"KERNEL", "^_Z9Vec"}}, &problem);
  ASSERT_NE(symbol, nullptr);
  EXPECT_TRUE(symbol->NameMatches("_Z9VectorAddPi"));
  EXPECT_FALSE(symbol->NameMatches("VectorAdd"));
}

TEST(CaptureChoiceTest, ExpressionsAreThoseOfEveryOtherFilter) {
  std::string problem;
  const auto matches = [&](const char* pattern, const char* symbol) {
    const auto choice = Choice({{"DIR", "d"}, {"KERNEL", pattern}}, &problem);
    EXPECT_NE(choice, nullptr) << problem;
    return choice != nullptr && choice->NameMatches(symbol);
  };
  EXPECT_TRUE(matches("gemm_\\d+x\\d+$", "gemm_64x32"));
  EXPECT_FALSE(matches("\\bemm", "gemm_64x32"));
  EXPECT_TRUE(matches("gem+?_", "gemm_64x32"));
  EXPECT_FALSE(matches("gemm_(?!64)", "gemm_64x32"));
  EXPECT_TRUE(matches("gemm_(?=64)", "gemm_64x32"));
  EXPECT_TRUE(matches("^[[:alpha:]]+_[0-9]{2}x(16|32)$", "gemm_64x32"));  // as in POSIX
  EXPECT_EQ(Choice({{"DIR", "d"}, {"KERNEL", "(a"}}, &problem), nullptr);
  EXPECT_EQ(problem, "ROCHOUND_CAPTURE_KERNEL: '(a' is not a regular expression: a ) is missing");
}

TEST(CaptureChoiceTest, ShapesMatchWhereTheyAreNamed) {
  std::string problem;
  const auto choice = Choice({{"DIR", "d"}, {"SHAPE", "grid=1024x1x1,workgroup=256"}}, &problem);
  ASSERT_NE(choice, nullptr) << problem;
  EXPECT_TRUE(choice->ShapeMatches(Packet(1024, 256)));
  EXPECT_FALSE(choice->ShapeMatches(Packet(1025, 256)));
  EXPECT_FALSE(choice->ShapeMatches(Packet(1024, 255)));
  const auto any = Choice({{"DIR", "d"}, {"SHAPE", "grid=*x1x*"}}, &problem);
  ASSERT_NE(any, nullptr) << problem;
  EXPECT_TRUE(any->ShapeMatches(Packet(7, 1)));
  hsa_kernel_dispatch_packet_t high = Packet(7, 1);
  high.grid_size_y = 2;
  EXPECT_FALSE(any->ShapeMatches(high));
}

TEST(CaptureChoiceTest, NumbersAreTaken) {
  std::string problem;
  const auto choice = Choice({{"DIR", "d"}, {"NTH", "500"}, {"MEMORY", "all"}}, &problem);
  ASSERT_NE(choice, nullptr) << problem;
  EXPECT_EQ(choice->nth, 500u);
  EXPECT_EQ(choice->dispatch, 0u);
  EXPECT_TRUE(choice->all_memory);
}

TEST(CaptureChoiceTest, WhatCannotBeUnderstoodIsNamed) {
  const std::map<std::string, std::string> wrong = {
      {"KERNEL", "("}, {"NTH", "0"}, {"DISPATCH", "x"}, {"SHAPE", "grid=1x2x3x4"}};
  for (const auto& [name, value] : wrong) {
    std::string problem;
    EXPECT_EQ(Choice({{"DIR", "d"}, {name, value}}, &problem), nullptr);
    EXPECT_NE(problem.find(name), std::string::npos) << problem;
  }
}

TEST(CaptureChoiceTest, SaysWhyNothingWasCaptured) {
  std::string problem;
  const auto tenth = Choice({{"DIR", "d"}, {"KERNEL", "add"}, {"NTH", "10"}}, &problem);
  EXPECT_EQ(tenth->WhyNone(7, 3), "only 3 launches matched, not 10: 7 kernels were launched.");
  EXPECT_EQ(tenth->WhyNone(1, 0), "no launch matched: 1 kernel was launched.");
  const auto numbered = Choice({{"DIR", "d"}, {"KERNEL", "add"}, {"DISPATCH", "5"}}, &problem);
  EXPECT_EQ(numbered->WhyNone(4, 4), "launch 5 did not come: 4 kernels were launched.");
  EXPECT_EQ(numbered->WhyNone(9, 4),
            "launch 5 is of another kernel or shape: 9 kernels were launched.");
}

}  // namespace
}  // namespace rochound::agent
