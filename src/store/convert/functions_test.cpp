// SPDX-License-Identifier: MIT
#include "store/convert/functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace rochound::store {
namespace {

using Words = std::vector<uint64_t>;
using Texts = std::vector<trace::TextArgument>;

const Function kMemcpy("hip", "hipMemcpy", "enum", "dst:ptr,src:ptr,sizeBytes:u64,kind:enum");
const Function kLaunch("hip", "hipLaunchKernel", "enum",
                       "function:ptr,grid:dim3,block:dim3,shared:u32");
const Function kMalloc("hip", "hipMalloc", "enum", "ptr:*ptr,size:u64");
const Function kErrorString("hip", "hipGetErrorString", "ptr", "error:enum,return:ptr");
const Function kMixed("hsa", "mixed", "i32", "a:i32,b:bool,c:f32,d:f64,e:struct20,f:str,g:handle");
const Function kNothing("hsa", "nothing", "void", "");
const Function kNewer("hsa", "newer", "enum", "a:u32,b:quaternion,c:u32");

std::string Text(const Function& function, const Words& words, const Texts& texts = {}) {
  std::string text;
  AppendArguments(&text, function, {words, texts});
  return text;
}

nlohmann::json Json(const Function& function, const Words& words, const Texts& texts = {}) {
  std::string text;
  AppendArgumentsJson(&text, function, {words, texts});
  return nlohmann::json::parse(text);
}

std::string ResultText(const Function& function, const Words& words, uint32_t result) {
  std::string text;
  AppendResultJson(&text, function, {words, {}}, result);
  return text;
}

TEST(Functions, KnowTheirArguments) {
  EXPECT_EQ(kMemcpy.name, "hipMemcpy");
  EXPECT_EQ(kMemcpy.domain, "hip");
  EXPECT_EQ(kMemcpy.Find("kind"), 3);
  EXPECT_EQ(kMemcpy.Find("stream"), -1);
  EXPECT_EQ(kNothing.arguments.size(), 0u);
  const Words words = {0x7f00, 0, 4096};
  EXPECT_EQ(WordOf(kMemcpy, {words, {}}, 2), 4096u);
  EXPECT_EQ(WordOf(kMemcpy, {words, {}}, 3), 0u);
  EXPECT_EQ(WordOf(kMemcpy, {words, {}}, -1), 0u);
}

TEST(Functions, ShowArgumentsAsText) {
  EXPECT_EQ(Text(kMemcpy, {0x7f00, 0, 4096, static_cast<uint64_t>(-1)}),
            "dst=0x7f00|src=0x0|sizeBytes=4096|kind=-1");
  EXPECT_EQ(Text(kLaunch, {1, 2ull << 32 | 1, 3, 5ull << 32 | 4, 6, 7}),
            "function=0x1|grid={1,2,3}|block={4,5,6}|shared=7");
  EXPECT_EQ(Text(kMalloc, {0x10, 0x20, 64}), "ptr=0x10|*ptr=0x20|size=64");
  EXPECT_EQ(Text(kMalloc, {0, 0, 64}), "ptr=0x0|size=64");
  EXPECT_EQ(Text(kNothing, {}), "");
}

TEST(Functions, ShowEveryTypeOfArgument) {
  const Words words = {static_cast<uint64_t>(-5),
                       1,
                       std::bit_cast<uint32_t>(0.5f),
                       std::bit_cast<uint64_t>(-1e100),
                       1,
                       2,
                       3,
                       0x1234,
                       0xabc};
  const Texts texts = {{5, 9, "a\"b\\\n\xff"}};
  EXPECT_EQ(Text(kMixed, words, texts),
            "a=-5|b=true|c=0.5|d=-1e+100|e={0x1,0x2,0x3}|f=a\"b\\\n\xff...|g=0xabc");
  const nlohmann::json json = Json(kMixed, words, texts);
  EXPECT_EQ(json["a"], -5);
  EXPECT_EQ(json["b"], true);
  EXPECT_EQ(json["c"], 0.5);
  EXPECT_EQ(json["d"], -1e100);
  EXPECT_EQ(json["e"], (nlohmann::json{"0x1", "0x2", "0x3"}));
  EXPECT_EQ(json["f"], "a\"b\\\n\xef\xbf\xbd");
  EXPECT_EQ(json["g"], "0xabc");
  EXPECT_EQ(Json(kLaunch, {1, 2ull << 32 | 1, 3, 5ull << 32 | 4, 6, 7})["grid"],
            (nlohmann::json{1, 2, 3}));
  EXPECT_EQ(Json(kMalloc, {0x10, 0x20, 64}),
            (nlohmann::json{{"ptr", "0x10"}, {"*ptr", "0x20"}, {"size", 64}}));
}

TEST(Functions, ShowWhatIsThereOfALostCall) {
  EXPECT_EQ(Text(kMemcpy, {1, 2}), "dst=0x1|src=0x2");
  EXPECT_EQ(Text(kMixed, {}, {{5, 3, "abc"}}), "f=abc");
  // Behind a type that we do not know nothing can be told.
  EXPECT_EQ(Text(kNewer, {1, 2, 3}), "a=1");
}

TEST(Functions, ShowResults) {
  EXPECT_EQ(ResultText(kMemcpy, {}, 0), "0");
  EXPECT_EQ(ResultText(kMixed, {}, static_cast<uint32_t>(-7)), "-7");
  EXPECT_EQ(ResultText(kNothing, {}, 0), "null");
  EXPECT_EQ(ResultText(kErrorString, {0, 0x7fff12345678}, 0x12345678), "\"0x7fff12345678\"");
}

TEST(Functions, WriteJsonThatCanBeRead) {
  std::string every;
  for (int byte = 1; byte < 256; ++byte) every.push_back(static_cast<char>(byte));
  every += "\xe4\xb8\xad\xf0\x9f\x90\x95 \xed\xa0\x80 \xc0\xaf";
  std::string text;
  AppendJsonText(&text, every);
  const std::string back = nlohmann::json::parse(text);
  EXPECT_EQ(back.substr(0, 0x7f), every.substr(0, 0x7f));
  EXPECT_NE(back.find("\xe4\xb8\xad\xf0\x9f\x90\x95 "), std::string::npos);
  const auto infinite = std::bit_cast<uint32_t>(std::numeric_limits<float>::infinity());
  EXPECT_EQ(Json(kMixed, {0, 0, infinite, std::bit_cast<uint64_t>(std::nan(""))})["c"], "inf");
}

}  // namespace
}  // namespace rochound::store
