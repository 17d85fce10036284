// SPDX-License-Identifier: MIT
#include "base/printable.h"

#include <gtest/gtest.h>

namespace rochound::base {
namespace {

TEST(Printable, NothingSteersATerminal) {
  EXPECT_EQ(Printable("plain \xc3\xa4\xe2\x82\xac"), "plain \xc3\xa4\xe2\x82\xac");
  EXPECT_EQ(Printable("\x1b]0;title\a"), "\\x1b]0;title\\x07");
  EXPECT_EQ(Printable("a\nb\tc\x7f"), "a\\x0ab\\x09c\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m\xc2\xa0"),
            "\\x9b31m\xc2\xa0");
  EXPECT_EQ(Printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(Printable("\xc2"), "\xc2");
  EXPECT_EQ(Printable("a\nb\x1b", "\n"), "a\nb\\x1b");
}

}  // namespace
}  // namespace rochound::base
