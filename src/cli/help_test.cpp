// SPDX-License-Identifier: MIT
//
// What the real rochound command says about itself.

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <string>

namespace rochound::cli {
namespace {

struct Outcome {
  int code = -1;
  std::string text;  // stdout and stderr
  bool Says(const std::string& words) const { return text.find(words) != std::string::npos; }
};

Outcome Rochound(const std::string& arguments) {
  const std::string command = std::string(ROCHOUND_TEST_COMMAND) + " " + arguments + " 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const size_t bytes = fread(buffer, 1, sizeof buffer, pipe))
    outcome.text.append(buffer, bytes);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  return outcome;
}

TEST(Help, IsForPeople) {
  const Outcome run = Rochound("run --help");
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(run.Says("--no-hip")) << run.text;
  EXPECT_FALSE(run.Says("{false}")) << run.text;
}

TEST(Help, NamesEveryActionOfTheLog) {
  const Outcome log = Rochound("log --help");
  for (const char* action : {"\n  stat ", "\n  dump ", "\n  recover ", "\n  describe "})
    EXPECT_TRUE(log.Says(action)) << action << log.text;
}

TEST(Help, AboutOneActionIsAboutNothingElse) {
  const Outcome exporting = Rochound("replay export --help");
  EXPECT_EQ(exporting.code, 0);
  EXPECT_TRUE(exporting.Says("Usage: rochound replay export BUNDLE")) << exporting.text;
  EXPECT_TRUE(exporting.Says("--output")) << exporting.text;
  EXPECT_FALSE(exporting.Says("--iterations")) << exporting.text;
  EXPECT_TRUE(Rochound("replay compare --help").Says("--warmup"));
  EXPECT_TRUE(Rochound("replay --help").Says("--iterations"));
  EXPECT_FALSE(Rochound("log recover --help").Says("--kind"));
  EXPECT_TRUE(Rochound("ctl dump --help").Says("--output"));
  EXPECT_FALSE(Rochound("ctl start --help").Says("--output"));
}

TEST(UnknownCommand, IsSaidToBeOne) {
  for (const char* line : {"nonsense", "nonsense --help", "nonsense -- program"}) {
    const Outcome outcome = Rochound(line);
    EXPECT_EQ(outcome.code, 2) << line;
    EXPECT_TRUE(outcome.Says("there is no command 'nonsense'")) << outcome.text;
  }
}

TEST(UnknownCommand, ThatIsAQuestionLeadsToExplain) {
  if (ROCHOUND_WITH_QUESTIONS == 0) GTEST_SKIP() << "built without DuckDB";
  for (const char* line : {"diff a.rpd b.rpd", "diff --help", "diff"}) {
    const Outcome outcome = Rochound(line);
    EXPECT_EQ(outcome.code, 2) << line;
    EXPECT_TRUE(outcome.Says("rochound explain diff")) << outcome.text;
  }
}

}  // namespace
}  // namespace rochound::cli
