// SPDX-License-Identifier: MIT
#include "optimize/endpoint.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace rochound::optimize {
namespace {

TEST(Endpoint, TakesTheKeyOutOfTheEnvironment) {
  setenv("ROCHOUND_LLM_URL", "http://localhost:1/v1/", 1);
  setenv("ROCHOUND_LLM_MODEL", "m", 1);
  setenv("ROCHOUND_LLM_KEY", "sk-secret", 1);
  const char* const place = getenv("ROCHOUND_LLM_KEY");
  const auto endpoint = TakeEndpoint();
  ASSERT_TRUE(endpoint.ok()) << endpoint.error().message;
  EXPECT_EQ(endpoint.value().url, "http://localhost:1/v1");
  EXPECT_EQ(endpoint.value().key, "sk-secret");
  EXPECT_EQ(getenv("ROCHOUND_LLM_KEY"), nullptr);
  EXPECT_STREQ(place, "xxxxxxxxx");
  unsetenv("ROCHOUND_LLM_MODEL");
  EXPECT_FALSE(TakeEndpoint().ok());
}

TEST(Endpoint, RefusesAddressesThatGiveSomethingAway) {
  const auto problem = [](const char* url, const char* key) {
    return !ProblemWith({url, "m", key}).empty();
  };
  EXPECT_FALSE(problem("https://models.example/v1", "k"));
  EXPECT_FALSE(problem("http://models.example/v1", ""));
  EXPECT_FALSE(problem("http://127.0.0.1:80/v1", "k"));
  EXPECT_FALSE(problem("http://[::1]:80/v1", "k"));
  EXPECT_TRUE(problem("http://models.example/v1", "k"));
  EXPECT_TRUE(problem("http://127.0.0.1.example/v1", "k"));
  EXPECT_TRUE(problem("https://name:word@models.example/v1", ""));
  EXPECT_TRUE(problem("https://models.example/v1?key=1", ""));
  EXPECT_TRUE(problem("file:///etc/passwd", ""));
  EXPECT_TRUE(problem("nothing at all", ""));
  EXPECT_TRUE(problem("https://models.example/v1", "k\r\nX: y"));
}

TEST(Endpoint, HidesTheKey) {
  const Endpoint endpoint{"http://localhost/v1", "m", "sk-1"};
  EXPECT_EQ(WithoutKey(endpoint, "sk-1 and sk-1sk-1"), "[key] and [key][key]");
}

TEST(Endpoint, TellsThatNobodyAnswers) {
  const auto answer =
      Post({"http://127.0.0.1:1/v1", "m", "sk-1"}, "{}", std::chrono::milliseconds(2000));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message.find("sk-1"), std::string::npos);
}

}  // namespace
}  // namespace rochound::optimize
