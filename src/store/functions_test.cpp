// SPDX-License-Identifier: MIT
#include "store/functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <nlohmann/json.hpp>

namespace rochound::store {
namespace {

constexpr std::string_view kFile =
    "1\thip\thipMemcpy\tenum\tdst:ptr,src:ptr,sizeBytes:u64,kind:enum\n"
    "this is not a line of the file\n"
    "7\thip\thipLaunchKernel\tenum\tfunction:ptr,grid:dim3,block:dim3,shared:u32\n"
    "9\thip\thipMalloc\tenum\tptr:*ptr,size:u64\n"
    "11\thip\thipGetErrorString\tptr\terror:enum,return:ptr\n"
    "12\thsa\tmixed\ti32\ta:i32,b:bool,c:f32,d:f64,e:struct20,f:str,g:handle\n"
    "13\thsa\tnothing\tvoid\t\n"
    "14\thsa\tnewer\tenum\ta:u32,b:quaternion,c:u32";

std::string Text(const Functions& functions, uint16_t id, const CallArguments& arguments) {
  std::string text;
  AppendArguments(&text, *functions.Find(id), arguments);
  return text;
}

nlohmann::json Json(const Functions& functions, uint16_t id, const CallArguments& arguments) {
  std::string text;
  AppendArgumentsJson(&text, *functions.Find(id), arguments);
  return nlohmann::json::parse(text);
}

std::string ResultText(const Functions& functions, uint16_t id, const CallArguments& arguments,
                       uint32_t result) {
  std::string text;
  AppendResultJson(&text, *functions.Find(id), arguments, result);
  return text;
}

TEST(Functions, AreFoundByTheirNumber) {
  const Functions functions = Functions::Parse(kFile);
  ASSERT_NE(functions.Find(1), nullptr);
  EXPECT_EQ(functions.Find(1)->name, "hipMemcpy");
  EXPECT_EQ(functions.Find(1)->domain, "hip");
  EXPECT_EQ(functions.Find(1)->Find("kind"), 3);
  EXPECT_EQ(functions.Find(1)->Find("stream"), -1);
  EXPECT_EQ(functions.Find(13)->arguments.size(), 0u);
  EXPECT_EQ(functions.Find(0), nullptr);
  EXPECT_EQ(functions.Find(2), nullptr);
  EXPECT_EQ(functions.Find(65535), nullptr);
  EXPECT_EQ(Functions::Parse("").Find(1), nullptr);
}

TEST(Functions, ShowArgumentsAsText) {
  const Functions functions = Functions::Parse(kFile);
  const CallArguments copy{{0x7f00, 0, 4096, static_cast<uint64_t>(-1)}, {}};
  EXPECT_EQ(Text(functions, 1, copy), "dst=0x7f00|src=0x0|sizeBytes=4096|kind=-1");
  EXPECT_EQ(WordOf(*functions.Find(1), copy, 2), 4096u);
  EXPECT_EQ(WordOf(*functions.Find(1), copy, -1), 0u);
  EXPECT_EQ(Text(functions, 7, {{1, 2ull << 32 | 1, 3, 5ull << 32 | 4, 6, 7}, {}}),
            "function=0x1|grid={1,2,3}|block={4,5,6}|shared=7");
  EXPECT_EQ(Text(functions, 9, {{0x10, 0x20, 64}, {}}), "ptr=0x10|*ptr=0x20|size=64");
  EXPECT_EQ(Text(functions, 9, {{0, 0, 64}, {}}), "ptr=0x0|size=64");
  EXPECT_EQ(Text(functions, 13, {}), "");
}

TEST(Functions, ShowEveryTypeOfArgument) {
  const Functions functions = Functions::Parse(kFile);
  const CallArguments mixed{{static_cast<uint64_t>(-5), 1, std::bit_cast<uint32_t>(0.5f),
                             std::bit_cast<uint64_t>(-1e100), 1, 2, 3, 0x1234, 0xabc},
                            {{5, 9, "a\"b\\\n\xff"}}};
  EXPECT_EQ(Text(functions, 12, mixed),
            "a=-5|b=true|c=0.5|d=-1e+100|e={0x1,0x2,0x3}|f=a\"b\\\n\xff...|g=0xabc");
  const nlohmann::json json = Json(functions, 12, mixed);
  EXPECT_EQ(json["a"], -5);
  EXPECT_EQ(json["b"], true);
  EXPECT_EQ(json["c"], 0.5);
  EXPECT_EQ(json["d"], -1e100);
  EXPECT_EQ(json["e"], (nlohmann::json{"0x1", "0x2", "0x3"}));
  EXPECT_EQ(json["f"], "a\"b\\\n\xef\xbf\xbd");
  EXPECT_EQ(json["g"], "0xabc");
  EXPECT_EQ(Json(functions, 7, {{1, 2ull << 32 | 1, 3, 5ull << 32 | 4, 6, 7}, {}})["grid"],
            (nlohmann::json{1, 2, 3}));
  EXPECT_EQ(Json(functions, 9, {{0x10, 0x20, 64}, {}}),
            (nlohmann::json{{"ptr", "0x10"}, {"*ptr", "0x20"}, {"size", 64}}));
}

TEST(Functions, ShowWhatIsThereOfALostCall) {
  const Functions functions = Functions::Parse(kFile);
  EXPECT_EQ(Text(functions, 1, {{1, 2}, {}}), "dst=0x1|src=0x2");
  EXPECT_EQ(Text(functions, 12, {{}, {{5, 3, "abc"}}}), "f=abc");
  // Behind a type that we do not know nothing can be told.
  EXPECT_EQ(Text(functions, 14, {{1, 2, 3}, {}}), "a=1");
}

TEST(Functions, ShowResults) {
  const Functions functions = Functions::Parse(kFile);
  EXPECT_EQ(ResultText(functions, 1, {}, 0), "0");
  EXPECT_EQ(ResultText(functions, 12, {}, static_cast<uint32_t>(-7)), "-7");
  EXPECT_EQ(ResultText(functions, 13, {}, 0), "null");
  EXPECT_EQ(ResultText(functions, 11, {{0, 0x7fff12345678}, {}}, 0x12345678), "\"0x7fff12345678\"");
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
  text.clear();
  CallArguments none{{0, 0, std::bit_cast<uint32_t>(std::numeric_limits<float>::infinity()),
                      std::bit_cast<uint64_t>(std::nan("")), 0, 0, 0, 0, 0},
                     {}};
  EXPECT_EQ(Json(Functions::Parse(kFile), 12, none)["c"], "inf");
}

}  // namespace
}  // namespace rochound::store
