// SPDX-License-Identifier: MIT
#include "base/pattern.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <regex>
#include <string>

namespace rochound::base {
namespace {

bool Found(const std::string& pattern, const std::string& text) {
  const auto compiled = Pattern::Compile(pattern);
  EXPECT_TRUE(compiled.ok()) << pattern << ": " << compiled.error().message;
  return compiled.ok() && compiled.value().FoundIn(text);
}

TEST(PatternTest, NamesOfKernels) {
  const std::string name = "void gemm<float, 64>(float const*, int)::{lambda(int)#1}";
  for (const char* pattern : {"gemm",
                              "^void gemm<",
                              "#1\\}$",
                              "g.*64",
                              "gemm|sort",
                              "\\d+",
                              "\\bgemm\\b",
                              "<float, \\d{2}>",
                              "g[a-m]+<",
                              "[[:digit:]]",
                              "float(?! const)",
                              "int(?=\\))",
                              "gem*?m<",
                              "{lambda",
                              "(?:ge)(m+)",
                              "\\x67emm",
                              "x*",
                              "",
                              "^",
                              "$",
                              "\\w+<\\w+,\\s\\d\\d>",
                              "[^\\w\\s]",
                              "\\$|::"})
    EXPECT_TRUE(Found(pattern, name)) << pattern;
  for (const char* pattern : {"^gemm", "\\bemm", "float(?= const&)", "\\D4>", "gemm(?!<)",
                              "[^\\x00-\\xff]", "\\d{3}", "gemm$", "\\n", "[]"})
    EXPECT_FALSE(Found(pattern, name)) << pattern;
}

TEST(PatternTest, WhatIsWrongIsTold) {
  const auto problem = [](const char* pattern) {
    const auto compiled = Pattern::Compile(pattern);
    return compiled.ok() ? "" : compiled.error().message;
  };
  EXPECT_EQ(problem("(a"), "a ) is missing");
  EXPECT_EQ(problem("a)"), "a ( is missing");
  EXPECT_EQ(problem("[a"), "a ] is missing");
  EXPECT_EQ(problem("*a"), "nothing is before the *");
  EXPECT_EQ(problem("{2}"), "nothing is before the {");
  EXPECT_EQ(problem("^*"), "nothing that could be repeated is before the *");
  EXPECT_EQ(problem("a{3,2}"), "the second number in {} is lower than the first");
  EXPECT_EQ(problem("[b-a]"), "a range in [] goes from the lower to the higher character");
  EXPECT_EQ(problem("(a)\\1"), "what a group has matched cannot be asked for again (\\1)");
  EXPECT_EQ(problem("a\\"), "nothing is after the last \\");
  EXPECT_EQ(problem("(?<a>b)"), "after (? there may be :, = or !");
  EXPECT_EQ(problem("[[:what:]]"), "there is no such class of characters; [[:alpha:]] is one");
  EXPECT_EQ(problem("((((a{1000}){1000}){1000}){1000})"), "it is too long");
  EXPECT_EQ(problem("a{5000}"), "a number in {} is too high");
  EXPECT_EQ(problem(std::string(10'000, '(').c_str()), "it is nested too deeply");
}

TEST(PatternTest, TimeAndStackDoNotDependOnWhatCouldBeTried) {
  const std::string text(20'000, 'a');
  const std::clock_t start = std::clock();
  EXPECT_FALSE(Found("(a*)*b", text));
  EXPECT_FALSE(Found("(a|aa)+$b", text));
  EXPECT_TRUE(Found("(a?){30}a{30}$", text));
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 20);
}

// A random pattern that both understand. No ^ or \b in a lookahead: libstdc++ takes the place where
// that begins for the beginning of the text.
std::string RandomPattern(std::mt19937& random, int depth, bool ahead = false) {
  constexpr const char* kAtoms[] = {"a",   "b",     ".",      "[ab]", "[^a]", "\\w", "\\d",
                                    "\\W", "[0-b]", "[\\d_]", "1",    "_",    " ",   "[[:alpha:]]"};
  constexpr const char* kAsserts[] = {"^", "$", "\\b", "\\B"};
  constexpr const char* kTimes[] = {"*",  "+",   "?",     "*?",     "+?",
                                    "??", "{2}", "{1,2}", "{0,3}?", "{1,}"};
  std::string pattern;
  const size_t parts = random() % 4;
  for (size_t i = 0; i <= parts; ++i) {
    const unsigned kind = random() % 12;
    std::string part = kAtoms[random() % std::size(kAtoms)];
    if (kind == 0 && !ahead) {
      pattern += kAsserts[random() % std::size(kAsserts)];
      continue;
    }
    if (kind < 4 && depth > 0) {
      const char* const kinds[] = {"(", "(?:", "(?=", "(?!"};
      const size_t which = random() % 4;
      const auto inside = [&] { return RandomPattern(random, depth - 1, ahead || which >= 2); };
      part = kinds[which] + inside() + "|" + inside() + ")";
      if (which >= 2) {
        pattern += part;
        continue;
      }
    }
    pattern += part;
    if (random() % 3 == 0) pattern += kTimes[random() % std::size(kTimes)];
  }
  return pattern;
}

TEST(PatternTest, FindsWhatTheStandardLibraryFinds) {
  std::mt19937 random(7);
  size_t found = 0, checked = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string pattern = RandomPattern(random, 2);
    const std::regex expected(pattern);
    const auto compiled = Pattern::Compile(pattern);
    ASSERT_TRUE(compiled.ok()) << pattern << ": " << compiled.error().message;
    for (int each = 0; each < 8; ++each) {
      std::string text;
      for (size_t size = random() % 8; text.size() < size;) text += "ab1_ \nb"[random() % 7];
      const bool wanted = std::regex_search(text, expected);
      EXPECT_EQ(compiled.value().FoundIn(text), wanted)
          << "'" << pattern << "' in '" << text << "'";
      found += wanted ? 1 : 0;
      ++checked;
    }
  }
  EXPECT_GT(found, checked / 5);
  EXPECT_LT(found, checked * 4 / 5);
}

}  // namespace
}  // namespace rochound::base
