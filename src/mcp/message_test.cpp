// SPDX-License-Identifier: MIT
#include "mcp/message.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rochound::mcp {
namespace {

using Kind = Message::Kind;

TEST(MessageTest, ARequestHasItsParts) {
  const Message message =
      ParseMessage(R"({"jsonrpc":"2.0","id":-7,"method":"tools/list","params":{"cursor":"x"}})");
  ASSERT_EQ(message.kind, Kind::kRequest) << message.problem;
  EXPECT_EQ(message.id, -7);
  EXPECT_EQ(message.method, "tools/list");
  EXPECT_EQ(message.params["cursor"], "x");
}

TEST(MessageTest, WithoutAnIdItIsANotification) {
  const Message message = ParseMessage(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_EQ(message.kind, Kind::kNotification);
  EXPECT_TRUE(message.params.is_object());
}

TEST(MessageTest, WhatIsNoMessageIsAnErrorWithItsCode) {
  struct Case {
    std::string line;
    int code;
    Json id;
  };
  const std::vector<Case> cases = {
      {"", kParseError, nullptr},
      {"{", kParseError, nullptr},
      {"\xff\xfe", kParseError, nullptr},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3(\"}", kParseError, nullptr},
      {"7", kInvalidRequest, nullptr},
      {R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", kInvalidRequest, nullptr},
      {R"({"id":1,"method":"ping"})", kInvalidRequest, 1},
      {R"({"jsonrpc":2.0,"id":1,"method":"ping"})", kInvalidRequest, 1},
      {R"({"jsonrpc":"2.0","id":1})", kInvalidRequest, 1},
      {R"({"jsonrpc":"2.0","id":"a","method":7})", kInvalidRequest, "a"},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})", kInvalidParams, 1},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", kInvalidRequest, nullptr},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", kInvalidRequest, nullptr},
      {R"({"jsonrpc":"2.0","id":1e400,"method":"ping"})", kParseError, nullptr},
      {R"({"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"})", kInvalidRequest,
       nullptr},
      {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", kInvalidRequest, nullptr},
      {R"({"jsonrpc":"2.0","id":")" + std::string(kMostId + 1, 'x') + R"(","method":"ping"})",
       kInvalidRequest, nullptr},
  };
  for (const Case& one : cases) {
    const Message message = ParseMessage(one.line);
    EXPECT_EQ(message.kind, Kind::kInvalid) << one.line;
    EXPECT_EQ(message.code, one.code) << one.line << ": " << message.problem;
    EXPECT_EQ(message.id, one.id) << one.line;
    EXPECT_FALSE(message.problem.empty()) << one.line;
  }
}

TEST(MessageTest, ADeepOneIsRefusedBeforeItIsParsed) {
  for (const char* const bracket : {"[", "{\"a\":"}) {
    std::string line;
    for (int i = 0; i < 300000; ++i) line += bracket;
    const Message message = ParseMessage(line);
    EXPECT_EQ(message.code, kParseError);
    EXPECT_EQ(message.problem, "nested too deeply");
  }
  // Brackets in texts are none.
  const Message message =
      ParseMessage(R"({"jsonrpc":"2.0","id":1,"method":"\"[[)" + std::string(200, '[') + R"("})");
  EXPECT_EQ(message.kind, Kind::kRequest) << message.problem;
}

TEST(MessageTest, AnswersToNobodyHaveNoId) {
  EXPECT_EQ(ErrorLine(nullptr, kParseError, "no"),
            R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}})");
  EXPECT_EQ(ResultLine("a", Json::object()), R"({"jsonrpc":"2.0","id":"a","result":{}})");
}

std::vector<std::string> Split(const std::vector<std::string>& parts) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  for (const std::string& part : parts)
    splitter.Take(part,
                  [&](const std::string* line) { lines.push_back(line ? *line : "(too long)"); });
  return lines;
}

TEST(LineSplitterTest, PartsBecomeLines) {
  EXPECT_EQ(Split({"a", "b\nc\r\n\n", "d"}), (std::vector<std::string>{"ab", "c"}));
}

TEST(LineSplitterTest, ALineThatIsTooLongIsOneErrorAndTheNextIsRead) {
  const std::string half(kMostLine / 2 + 1, 'x');
  EXPECT_EQ(Split({half, half, half, half + "\nnext\n"}),
            (std::vector<std::string>{"(too long)", "next"}));
  EXPECT_EQ(Split({std::string(kMostLine, 'x') + "\n"})[0].size(), kMostLine);
}

}  // namespace
}  // namespace rochound::mcp
