// SPDX-License-Identifier: MIT
#include "base/csv.h"

#include <gtest/gtest.h>

namespace rochound::base {
namespace {

TEST(CsvTest, FieldsAreQuotedWhereTheyMustBe) {
  EXPECT_EQ(CsvField("plain text"), "plain text");
  EXPECT_EQ(CsvField("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvField("say \"so\""), "\"say \"\"so\"\"\"");
  EXPECT_EQ(CsvField("two\nlines"), "\"two\nlines\"");
}

TEST(CsvTest, TextsAreNoFormulas) {
  EXPECT_EQ(CsvText("=1+1"), "'=1+1");
  EXPECT_EQ(CsvText("@f(a,b)"), "\"'@f(a,b)\"");
  EXPECT_EQ(CsvText("a=b"), "a=b");
  EXPECT_EQ(CsvText(""), "");
}

}  // namespace
}  // namespace rochound::base
