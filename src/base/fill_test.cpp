// SPDX-License-Identifier: MIT
#include "base/fill.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace rochound::base {
namespace {

TEST(FillTest, EachPlaceGetsItsValue) {
  EXPECT_EQ(Fill("nothing"), "nothing");
  EXPECT_EQ(Fill("{} of {}{}", "3", std::string("4"), '+'), "3 of 4+");
  EXPECT_EQ(Fill("{}, {}, {}", uint8_t{200}, -5, UINT64_MAX), "200, -5, 18446744073709551615");
  EXPECT_EQ(Fill("'{}'", std::string_view("a name").substr(2)), "'name'");
}

TEST(FillTest, ValuesAreNoPatterns) { EXPECT_EQ(Fill("{} {}", "{}", "b"), "{} b"); }

TEST(FillTest, TooFewAndTooManyValues) {
  EXPECT_EQ(Fill("{} and {}", 1), "1 and {}");
  EXPECT_EQ(Fill("{}", 1, 2), "1");
}

}  // namespace
}  // namespace rochound::base
