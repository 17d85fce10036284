// SPDX-License-Identifier: MIT
#include "store/open/sql_dialect.h"

#include <gtest/gtest.h>

namespace rochound::store {
namespace {

TEST(SqlDialectTest, EndIsANameWhereSqliteTakesItForOne) {
  EXPECT_EQ(QuoteEnd("select end - start from op"), "select \"end\" - start from op");
  EXPECT_EQ(QuoteEnd("select max(end), o.end, END from op o"),
            "select max(\"end\"), o.\"end\", \"END\" from op o");
  EXPECT_EQ(QuoteEnd("select 1 as end"), "select 1 as \"end\"");
}

TEST(SqlDialectTest, EndOfACaseStays) {
  EXPECT_EQ(QuoteEnd("select case when end > 5 then end else 0 end from op"),
            "select case when \"end\" > 5 then \"end\" else 0 end from op");
  EXPECT_EQ(QuoteEnd("case end when 1 then case when a then 'x' end else (end) end, end"),
            "case \"end\" when 1 then case when a then 'x' end else (\"end\") end, \"end\"");
  EXPECT_EQ(QuoteEnd("case when not end then -end end"), "case when not \"end\" then -\"end\" end");
}

TEST(SqlDialectTest, QuotedThingsAndCommentsStay) {
  EXPECT_EQ(QuoteEnd("select 'the end', \"end\", `end` -- end\n, /* end */ end"),
            "select 'the end', \"end\", `end` -- end\n, /* end */ \"end\"");
  EXPECT_EQ(QuoteEnd("select 'it''s end', weekend, end_time, endless"),
            "select 'it''s end', weekend, end_time, endless");
  EXPECT_EQ(QuoteEnd("select 'open end"), "select 'open end");
  EXPECT_EQ(QuoteEnd(""), "");
}

}  // namespace
}  // namespace rochound::store
