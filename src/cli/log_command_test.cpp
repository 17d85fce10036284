// SPDX-License-Identifier: MIT
//
// Runs the real rochound command on small logs.

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "trace/tsc.h"
#include "trace/writer.h"

namespace rochound::cli {
namespace {

struct Outcome {
  int code = -1;
  std::string text;  // stdout and stderr
};

Outcome Rochound(const std::string& arguments) {
  const std::string command = std::string(ROCHOUND_TEST_COMMAND) + " " + arguments + " 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const size_t bytes = fread(buffer, 1, sizeof buffer, pipe)) {
    outcome.text.append(buffer, bytes);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  return outcome;
}

class LogCommandTest : public testing::Test {
 protected:
  LogCommandTest()
      : dir_(base::TempDir::Create(testing::TempDir(), "rochound-log-").value()),
        run_((dir_.path() / "run").string()) {}

  trace::Writer* Write() const {
    trace::Writer* writer = trace::Writer::Open({.directory = run_}, nullptr);
    writer->WriteText("info", "pid=1\ncommand=./program --fast\n");
    writer->WriteText("functions", "1\thip\thipMalloc\ti32\tptr:ptr\n2\thip\thipFree\ti32\t\n");
    trace::ThreadLog* log = writer->Attach();
    for (int i = 0; i < 10; ++i) {
      auto* call = log->Reserve<trace::ApiCall>();
      call->begin_tsc = trace::ReadTsc();
      call->end_tsc = trace::ReadTsc();
      call->correlation = log->NextCorrelation();
      log->Commit(call, 1);
    }
    log->OpenCall(2, trace::ReadTsc(), log->NextCorrelation());
    writer->Maintain();
    return writer;
  }

  base::TempDir dir_;
  std::string run_;
};

TEST_F(LogCommandTest, StatSaysWhatThereIsAndThatNothingIsLost) {
  Write()->Finish();
  const Outcome stat = Rochound("log stat " + run_);
  EXPECT_EQ(stat.code, 0) << stat.text;
  EXPECT_EQ(stat.text.find("complete: no record was dropped\n1 process, 0 of them killed\n"), 0u)
      << stat.text;
  EXPECT_NE(stat.text.find("(ended in order): ./program --fast"), std::string::npos) << stat.text;
  EXPECT_NE(stat.text.find("call                     10          320"), std::string::npos)
      << stat.text;
  EXPECT_NE(stat.text.find("not returned: hipFree on thread " + std::to_string(gettid())),
            std::string::npos)
      << stat.text;
}

TEST_F(LogCommandTest, NothingInALogSteersTheTerminal) {
  trace::Writer* writer = Write();
  writer->WriteText("info", "pid=1\ncommand=./a\033[2J\302\2332J\n");
  writer->WriteText("functions", "1\thip\thip\033[2J\ti32\tptr:ptr\n2\thip\thip\302\233\ti32\t\n");
  writer->Finish();
  const std::string recover = "recover -o " + run_ + ".rpd ";
  for (const std::string& action : {std::string("stat "), std::string("dump "), recover}) {
    const std::string text = Rochound("log " + action + run_).text;
    EXPECT_EQ(text.find('\033'), std::string::npos) << action << text;
    EXPECT_EQ(text.find("\302\233"), std::string::npos) << action << text;
  }
}

// A trace is renamed to its place, which must not take a device away.
TEST_F(LogCommandTest, ADeviceIsNoPlaceForATrace) {
  Write()->Finish();
  const std::string pipe = run_ + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Outcome outcome = Rochound("log recover -o " + pipe + " " + run_);
  EXPECT_EQ(outcome.code, 2) << outcome.text;
  EXPECT_NE(outcome.text.find("is a device or a pipe"), std::string::npos) << outcome.text;
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(LogCommandTest, LostDataIsTheFirstLine) {
  trace::Writer* writer = Write();
  writer->CountDropped(trace::DropReason::kNoSignal, 42);
  writer->Maintain();
  const Outcome stat = Rochound("log stat " + run_);
  EXPECT_EQ(stat.text.find("INCOMPLETE: 42 records dropped, 0 other problems\n"), 0u) << stat.text;
  EXPECT_NE(stat.text.find("(still running)"), std::string::npos);
  EXPECT_NE(stat.text.find("! 42 records dropped: no signal"), std::string::npos);
  const Outcome dump = Rochound("log dump " + run_);
  EXPECT_LT(dump.text.find("42 records dropped"), dump.text.find('\n')) << dump.text;
}

TEST_F(LogCommandTest, StatAsJson) {
  trace::Writer* writer = Write();
  writer->CountDropped(trace::DropReason::kNoChunk, 3);
  const auto json = nlohmann::json::parse(Rochound("log stat --json " + run_).text);
  EXPECT_EQ(json["dropped"], 3);
  const auto& process = json["processes"][0];
  EXPECT_EQ(process["dropped"]["no_room"], 3);
  EXPECT_EQ(process["command"], "./program --fast");
  EXPECT_EQ(process["kinds"]["call"], 10);
  EXPECT_EQ(process["end"], "running");
  ASSERT_EQ(process["open_calls"].size(), 1u);
  EXPECT_EQ(process["open_calls"][0]["function"], "hipFree");
}

TEST_F(LogCommandTest, DumpShowsRecordsOfTheKindsAsked) {
  Write();
  const Outcome text = Rochound("log dump " + run_ + " --kind call --limit 4");
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.text.find("process " + std::to_string(getpid()) + "\n"), 0u) << text.text;
  size_t lines = 0;
  for (size_t at = 0;
       (at = text.text.find("call function=hipMalloc result=0", at)) != std::string::npos; ++at) {
    ++lines;
  }
  EXPECT_EQ(lines, 4u) << text.text;
  EXPECT_EQ(text.text.find("host_anchor"), std::string::npos);

  const Outcome json = Rochound("log dump " + run_ + " --json");
  size_t calls = 0;
  size_t all = 0;
  for (size_t at = 0; at < json.text.size();) {
    const size_t end = json.text.find('\n', at);
    const auto record = nlohmann::json::parse(json.text.substr(at, end - at));
    ++all;
    calls += record["record"] == "call" && record["function"] == "hipMalloc";
    at = end + 1;
  }
  EXPECT_EQ(calls, 10u);
  EXPECT_GT(all, 12u);
}

TEST_F(LogCommandTest, SaysWhatIsWrong) {
  Write();
  EXPECT_EQ(Rochound("log").code, 2);
  EXPECT_EQ(Rochound("log stat").code, 2);
  EXPECT_EQ(Rochound("log burn " + run_).code, 2);
  EXPECT_EQ(Rochound("log dump --kind nonsense " + run_).code, 2);
  const Outcome missing = Rochound("log stat " + run_ + "-not");
  EXPECT_EQ(missing.code, 125);
  EXPECT_NE(missing.text.find("No such file"), std::string::npos) << missing.text;
  const Outcome other = Rochound("log stat --pid 1 " + run_);
  EXPECT_EQ(other.code, 125);
  EXPECT_NE(other.text.find("no process 1"), std::string::npos) << other.text;
  EXPECT_EQ(Rochound("log --help").code, 0);
  EXPECT_EQ(Rochound("log describe").code, 0);
}

}  // namespace
}  // namespace rochound::cli
