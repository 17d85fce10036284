// SPDX-License-Identifier: MIT
#include "codeobj/target.h"

#include <gtest/gtest.h>

namespace rochound::codeobj {
namespace {

TEST(Target, IsReadFromText) {
  const auto plain = ParseTarget("gfx942");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain.value().processor, "gfx942");
  EXPECT_EQ(plain.value().xnack, Feature::kAny);
  EXPECT_EQ(plain.value().Id(), "gfx942");

  const auto full = ParseTarget("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full.value().processor, "gfx90a");
  EXPECT_EQ(full.value().sramecc, Feature::kOn);
  EXPECT_EQ(full.value().xnack, Feature::kOff);
  EXPECT_EQ(full.value().Id(), "gfx90a:sramecc+:xnack-");

  EXPECT_EQ(ParseTarget("amdgcn-amd-amdhsa--gfx9-4-generic").value().processor, "gfx9-4-generic");
  EXPECT_FALSE(ParseTarget("host-x86_64-unknown-linux-gnu-").ok());
  EXPECT_FALSE(ParseTarget("").ok());
  EXPECT_FALSE(ParseTarget("gfx942:fast+").ok());
}

TEST(Target, IsReadFromFlags) {
  const auto any = TargetOfFlags(0x054c, 4);
  ASSERT_TRUE(any.ok());
  EXPECT_EQ(any.value().processor, "gfx942");
  EXPECT_EQ(any.value().xnack, Feature::kAny);
  EXPECT_EQ(any.value().sramecc, Feature::kAny);
  EXPECT_EQ(TargetOfFlags(0x0e3f, 2).value().Id(), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(TargetOfFlags(0x0036, 3).value().xnack, Feature::kNone);
  EXPECT_EQ(TargetOfFlags(0x0100002f, 4).value().generic_version, 1u);
  EXPECT_EQ(TargetOfFlags(0x0130, 1).value().Id(), "gfx908:sramecc-:xnack+");
  EXPECT_FALSE(TargetOfFlags(0x0001, 4).ok());
}

TEST(Target, RunsWhereFeaturesAndProcessorFit) {
  const auto runs = [](const char* code, const char* gpu) {
    return RunsOn(ParseTarget(code).value(), ParseTarget(gpu).value());
  };
  EXPECT_TRUE(runs("gfx942", "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"));
  EXPECT_TRUE(runs("gfx942:xnack-", "gfx942:sramecc+:xnack-"));
  EXPECT_FALSE(runs("gfx942:xnack+", "gfx942:sramecc+:xnack-"));
  EXPECT_FALSE(runs("gfx942", "gfx90a"));
  EXPECT_TRUE(runs("gfx9-4-generic", "gfx942:sramecc+:xnack-"));
  EXPECT_FALSE(runs("gfx9-4-generic", "gfx90a"));
}

}  // namespace
}  // namespace rochound::codeobj
