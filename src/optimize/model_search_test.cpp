// SPDX-License-Identifier: MIT
#include "optimize/model_search.h"

#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>

namespace rochound::optimize {
namespace {

using base::Error;
using base::Result;
using nlohmann::ordered_json;

// A model that gives these texts, and a judge that knows them.
struct Play {
  std::deque<std::string> answers;  // "-": no answer
  std::vector<std::string> requests, judged, told;

  Result<void> Search(uint64_t iterations) {
    KernelFacts facts;
    facts.kernel = facts.demangled = "scale";
    facts.source = "the given source";
    ModelSearchOptions options;
    options.iterations = iterations;
    options.folders = {"/home/me/search/", "/home/me/source"};
    ModelSearchParts parts;
    parts.ask = [&](const std::string& request) -> Result<std::optional<std::string>> {
      requests.push_back(request);
      if (answers.empty()) return std::optional<std::string>();
      const std::string text = answers.front();
      answers.pop_front();
      if (text == "-") return Error{"timeout"};
      return std::optional<std::string>(
          ordered_json{{"choices", {{{"message", {{"content", text}}}}}}}.dump());
    };
    parts.judge = [&](const std::string& source, uint64_t number) -> Result<JournalEntry> {
      judged.push_back(source);
      JournalEntry entry;
      entry.id = static_cast<int64_t>(number);
      entry.reason = source == "broken\n"         ? "does-not-build"
                     : source.starts_with("fast") ? "faster"
                                                  : "different";
      entry.cost = source == "fast\n" ? 100 : 99.5;
      entry.speedup = source == "fast\n" ? 3 : 3.01;
      entry.verdict =
          ordered_json{{"reason", entry.reason},
                       {"speedup", {{"ratio", entry.speedup}}},
                       {"build_log",
                        "/home/me/search/llm/model-1.hip:1: what is this\nfailed: clang "
                        "-I /home/me/source -o a"}}
              .dump();
      return entry;
    };
    parts.wait = [](uint64_t) {};
    parts.stop = [] { return false; };
    parts.tell = [&](const std::string& text) { told.push_back(text); };
    return SearchWithModel(facts, options, parts);
  }
  bool RequestHolds(size_t request, const std::string& text) const {
    return request < requests.size() && requests[request].find(text) != std::string::npos;
  }
};

TEST(ModelSearch, SendsCompileErrorsBackAFewTimes) {
  Play play;
  play.answers.assign(5, "```\nbroken\n```");
  ASSERT_TRUE(play.Search(1).ok());
  EXPECT_EQ(play.requests.size(), 3u);
  EXPECT_FALSE(play.RequestHolds(0, "what is this"));
  EXPECT_TRUE(play.RequestHolds(1, "llm/model-1.hip:1: what is this"));
  EXPECT_TRUE(play.RequestHolds(1, "clang -I . -o a"));
  EXPECT_FALSE(play.RequestHolds(1, "/home/me"));
}

TEST(ModelSearch, ShowsVerdictsAndTheBestSoFar) {
  Play play;
  play.answers = {"```\nwrong\n```", "```\nfast\n```", "```\nfast, by a little\n```", "nothing"};
  ASSERT_TRUE(play.Search(9).ok());
  ASSERT_EQ(play.requests.size(), 5u);
  EXPECT_TRUE(play.RequestHolds(1, "1. its results are different"));
  EXPECT_TRUE(play.RequestHolds(2, "2. equal and faster: 3 times as fast"));
  EXPECT_TRUE(play.RequestHolds(2, "```cpp\\nfast\\n```"));
  // Less than 2% better: not the next best.
  EXPECT_FALSE(play.RequestHolds(3, "```cpp\\nfast, by a little"));
  EXPECT_TRUE(play.RequestHolds(4, "4. not used: there is no code block in it"));
}

TEST(ModelSearch, EndsWhenNobodyAnswers) {
  Play play;
  play.answers = {"-", "-", "```\nfast\n```", "-", "-", "-", "```\nfast\n```"};
  const auto done = play.Search(20);
  ASSERT_FALSE(done.ok());
  ASSERT_EQ(play.requests.size(), 6u);
  EXPECT_EQ(play.requests[0], play.requests[2]);
  EXPECT_EQ(play.judged, std::vector<std::string>{"fast\n"});
}

TEST(ModelSearch, AsksTheSameAgainAfterTheSameAnswers) {
  Play one, other;
  one.answers = other.answers = {"```\nwrong\n```", "```\nbroken\n```", "```\nfast\n```"};
  ASSERT_TRUE(one.Search(3).ok() && other.Search(3).ok());
  EXPECT_EQ(one.requests, other.requests);
}

}  // namespace
}  // namespace rochound::optimize
