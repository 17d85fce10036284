// SPDX-License-Identifier: MIT
#include "base/markup.h"

#include <gtest/gtest.h>

namespace rochound::base {
namespace {

TEST(MarkupTest, NothingIsMarkup) {
  EXPECT_EQ(MarkupText("a < b && c > \"d\""), "a &lt; b &amp;&amp; c &gt; &quot;d&quot;");
  EXPECT_EQ(MarkupText("\x1b[1m"), "\\x1b[1m");
  EXPECT_EQ(MarkupText("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(MarkupText("grün"), "grün");
}

}  // namespace
}  // namespace rochound::base
