// SPDX-License-Identifier: MIT
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace rochound::base {
namespace {

TEST(Utf8, TellsCharactersFromBytes) {
  for (const char* good : {"", "plain", "longer than eight bytes", "gr\xc3\xb6\xc3\x9f",
                           "\xe2\x82\xac", "\xf0\x9f\x98\x80 and more ascii", "\xed\x9f\xbf"})
    EXPECT_TRUE(IsUtf8(good)) << good;
  for (const char* bad :
       {"\xff", "12345678\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xf0\x9f\x98", "\xf8\x88\x80\x80\x80"})
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  EXPECT_TRUE(IsUtf8(std::string_view("a\0b", 3)));
}

TEST(Utf8, ReplacesWhatIsNone) {
  std::string scratch;
  const std::string good = "gr\xc3\xb6n";
  EXPECT_EQ(ToUtf8(good, &scratch).data(), good.data());
  EXPECT_EQ(ToUtf8("a\xff\xc3(\xe2\x82\xac\xe2\x82", &scratch),
            "a\xef\xbf\xbd\xef\xbf\xbd(\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace rochound::base
