// SPDX-License-Identifier: MIT
#include "optimize/model_answer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rochound::optimize {
namespace {

using nlohmann::json;

std::string Answer(const std::string& content) {
  return json{
      {"choices",
       {{{"message", {{"role", "assistant"}, {"content", content}}}, {"finish_reason", "stop"}}}}}
      .dump();
}

TEST(ModelAnswer, TakesTheOnlyCodeBlock) {
  const auto source = SourceInAnswer(Answer("Here it is:\n```cpp\nint a;\r\nint b;\n```\nFast!\n"));
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source.value(), "int a;\nint b;\n");
}

TEST(ModelAnswer, RefusesEverythingElse) {
  const std::string block = "```\nint a;\n```\n";
  for (const std::string& content : {
           std::string("int a;"),         // no block
           std::string("```\nint a;\n"),  // no end
           block + block,                 // two
           std::string("```cpp\n```cpp\nint a;\n```"),
           std::string("```\n \n```"),
           std::string("```\nint\x1b[2Ja;\n```"),
           std::string("```\nint\0a;\n```", 15),
           "```\n" + std::string(kMostSource, 'a') + "\n```",
       })
    EXPECT_FALSE(SourceInAnswer(Answer(content)).ok()) << content.substr(0, 80);
}

TEST(ModelAnswer, RefusesWhatIsNoAnswer) {
  for (const std::string& body : {
           std::string(),
           std::string("{"),
           std::string("[]"),
           std::string("null"),
           std::string("{\"choices\": []}"),
           std::string("{\"choices\": [3]}"),
           std::string("{\"choices\": {\"message\": 1}}"),
           std::string("{\"choices\": [{\"message\": {\"content\": null}}]}"),
           std::string("{\"choices\": [{\"message\": {\"content\": [\"```\\na\\n```\"]}}]}"),
           std::string("{\"choices\": [{\"message\": {\"content\": \"\xff\"}}]}"),
           std::string(200000, '['),
       })
    EXPECT_FALSE(SourceInAnswer(body).ok()) << body.substr(0, 80);
}

TEST(ModelAnswer, RefusesTools) {
  json answer = json::parse(Answer("```\nint a;\n```"));
  answer["choices"][0]["message"]["tool_calls"] = {{{"function", {{"name", "run"}}}}};
  const auto source = SourceInAnswer(answer.dump());
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.error().message, "it asks for tools, and there are none");
}

TEST(ModelAnswer, RefusesWhatWasCutOff) {
  json answer = json::parse(Answer("```\nint a;\n```"));
  answer["choices"][0]["finish_reason"] = "length";
  EXPECT_FALSE(SourceInAnswer(answer.dump()).ok());
}

}  // namespace
}  // namespace rochound::optimize
