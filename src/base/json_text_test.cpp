// SPDX-License-Identifier: MIT
#include "base/json_text.h"

#include <gtest/gtest.h>

#include <string_view>

namespace rochound::base {
namespace {

TEST(JsonTextTest, ValuesInValues) {
  JsonText array = JsonText::Array();
  array.Add(1);
  array.Add("two");
  array.Add(JsonText::Object());
  JsonText object{{"largest", UINT64_MAX}, {"least", INT64_MIN},
                  {"yes", true},           {"nothing", nullptr},
                  {"array", array},        {"inner", {{"x", 1u}, {"y", JsonText::Array()}}}};
  object.Add("ends \"so\"", std::string("gr\xc3\xbc\xc3\x9f"));
  EXPECT_EQ(array.size(), 3u);
  EXPECT_EQ(object.size(), 7u);
  EXPECT_EQ(object.text(), R"({"largest": 18446744073709551615,
"least": -9223372036854775808,
"yes": true,
"nothing": null,
"array": [1,
"two",
{}],
"inner": {"x": 1,
"y": []},
"ends \"so\"": "grüß"})");
}

TEST(JsonTextTest, TextsAreQuoted) {
  EXPECT_EQ(JsonText("a \"quoted\" \\ one\n\x1f").text(), R"("a \"quoted\" \\ one\u000a\u001f")");
  EXPECT_EQ(JsonText(std::string_view("\0", 1)).text(), R"("\u0000")");
  // Bytes that are no UTF-8, one by one.
  EXPECT_EQ(JsonText(std::string_view("a\xff\xc3(\xed\xa0\x80", 7)).text(),
            "\"a\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFD\"");
}

}  // namespace
}  // namespace rochound::base
