// SPDX-License-Identifier: MIT
//
// Runs the real rochound command, from a directory that has the shape of an installation, with a
// stand-in for the agent and a program that loads it as the HSA runtime would.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "cli/trace_output.h"
#include "codeobj/elf_view.h"
#include "launch/run_environment.h"
#include "store/rpd/database.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using testing::IsSubstring;
using Arguments = std::vector<std::string>;

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
  int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
};

class RunCommand : public testing::Test {
 protected:
  RunCommand() : dir_(base::TempDir::Create(testing::TempDir(), "rochound run-").value()) {
    for (const char* folder : {"bin", "lib", "work"}) fs::create_directories(dir_.path() / folder);
    fs::copy_file(ROCHOUND_TEST_COMMAND, dir_.path() / "bin/rochound");
    fs::copy_file(ROCHOUND_TEST_AGENT, Agent());
    for (const char* name :
         {"HSA_TOOLS_LIB", "RPDT_FILENAME", "LOGDUR_LOG_LOCATION", "LD_PRELOAD", "RPDT_AUTOSTART",
          "ROCPROFILER_REGISTER_LIBRARY", "ROCP_TOOL_LIBRARIES", "FAKE_AGENT"})
      variables_[name] = "";
  }

  fs::path Agent() const { return dir_.path() / "lib/librochound_agent.so"; }
  fs::path Work() const { return dir_.path() / "work"; }

  pid_t Start(const Arguments& arguments, bool group = false) const {
    const pid_t child = fork();
    if (child != 0) return child;
    if (group) setpgid(0, 0);
    dup2(open((dir_.path() / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open((dir_.path() / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    if (int ends[2]; nobody_reads_ && pipe2(ends, O_CLOEXEC) == 0) {
      dup2(ends[1], STDERR_FILENO);
      close(ends[0]);
    }
    for (const auto& [name, value] : variables_)
      value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
    if (chdir(Work().c_str()) != 0) _exit(98);
    std::vector<char*> argv = {const_cast<char*>("rochound")};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv((dir_.path() / "bin/rochound").c_str(), argv.data());
    _exit(99);
  }

  Outcome Finish(pid_t child) const {
    Outcome outcome;
    EXPECT_EQ(waitpid(child, &outcome.status, 0), child);
    outcome.out = base::ReadFile(dir_.path() / "out").value();
    outcome.err = base::ReadFile(dir_.path() / "err").value();
    return outcome;
  }

  // rochound run OPTIONS -- fake_program WORDS
  static Arguments Line(const Arguments& options, const Arguments& words) {
    Arguments line = {"run"};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"--", ROCHOUND_TEST_PROGRAM});
    line.insert(line.end(), words.begin(), words.end());
    return line;
  }
  Outcome Run(const Arguments& options, const Arguments& words) const {
    return Finish(Start(Line(options, words)));
  }

  std::string Ask(const fs::path& file, const std::string& sql) const {
    auto database = store::Database::Open(Work() / file, store::Database::Mode::kRead);
    if (!database.ok()) return database.error().message;
    auto statement = database.value().Prepare(sql);
    if (!statement.ok()) return statement.error().message;
    const auto row = statement.value().Step();
    return row.ok() && row.value() ? statement.value().Text(0) : "(nothing)";
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(Work()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  void WaitFor(const fs::path& file) const {
    for (int i = 0; i < 2000 && !fs::exists(file); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(fs::exists(file));
  }

  base::TempDir dir_;
  std::map<std::string, std::string> variables_;
  bool nobody_reads_ = false;  // what goes to stderr
};

TEST_F(RunCommand, MakesATrace) {
  const Outcome outcome = Run({}, {"print", "hello", "hsa"});
  EXPECT_EQ(outcome.code(), 0) << outcome.err;
  EXPECT_EQ(outcome.out, "hello\n");  // and nothing of ours
  EXPECT_EQ(Files(), std::vector<std::string>{"trace.rpd"});
  EXPECT_EQ(Ask("trace.rpd", "select count(*) from kernel where kernelName = 'work(int*)'"), "10");
  EXPECT_EQ(Ask("trace.rpd", "select count(*) from api where args = 'stream=0x77'"), "10");
  EXPECT_EQ(Ask("trace.rpd", "select value from rocpd_metadata where tag = 'rochound_command'"),
            std::string(ROCHOUND_TEST_PROGRAM) + " print hello hsa");
  EXPECT_PRED_FORMAT2(IsSubstring, "trace.rpd: 1 process", outcome.err);
  EXPECT_PRED_FORMAT2(IsSubstring, "10 kernels and 0 of the runtime itself", outcome.err);
  EXPECT_PRED_FORMAT2(IsSubstring, "work(int*)", outcome.err);
  EXPECT_LE(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 10);
}

TEST_F(RunCommand, WritesWhereItIsTold) {
  EXPECT_EQ(Run({"-o", "a.rpd", "--quiet"}, {"hsa"}).err, "");
  variables_["RPDT_FILENAME"] = "b.rpd";
  EXPECT_EQ(Run({}, {"hsa"}).code(), 0);
  EXPECT_EQ(Files(), (std::vector<std::string>{"a.rpd", "b.rpd"}));
  const Outcome nowhere = Run({"-o", "no/such/place.rpd"}, {"hsa", "print", "ran"});
  EXPECT_EQ(nowhere.code(), 2);  // at once, and not after hours
  EXPECT_EQ(nowhere.out, "");
  EXPECT_PRED_FORMAT2(IsSubstring, "no/such", nowhere.err);
}

TEST_F(RunCommand, KeepsTheLogWhereItIsTold) {
  EXPECT_EQ(Run({"--log-dir", "deep/log"}, {"hsa"}).code(), 0);
  EXPECT_EQ(Files(), (std::vector<std::string>{"deep", "trace.rpd"}));
  const auto run = nlohmann::json::parse(base::ReadFile(Work() / "deep/log/run.json").value());
  EXPECT_EQ(run["command"][1], "hsa");
  // A second run must not be mixed with it.
  const Outcome again = Run({"--log-dir", "deep/log"}, {"print", "ran"});
  EXPECT_EQ(again.code(), 2);
  EXPECT_EQ(again.out, "");
  EXPECT_PRED_FORMAT2(IsSubstring, "another run", again.err);
}

TEST_F(RunCommand, LeavesOnlyTheLogWhenAsked) {
  const Outcome outcome = Run({"--log-only", "--log-dir", "log"}, {"hsa", "exit", "5"});
  EXPECT_EQ(outcome.code(), 5);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(Files(), std::vector<std::string>{"log"});
  EXPECT_EQ(Run({"--log-only"}, {}).code(), 2);
}

TEST_F(RunCommand, PassesExitCodesThrough) {
  for (const int code : {0, 1, 2, 77, 125, 255})
    EXPECT_EQ(Run({}, {"hsa", "exit", std::to_string(code)}).code(), code);
}

TEST_F(RunCommand, EndsByTheProgramsSignal) {
  // A program built with a sanitizer would catch the signal and exit instead.
  setenv("ASAN_OPTIONS", "handle_segv=0:handle_abort=0", 1);
  setenv("TSAN_OPTIONS", "handle_segv=0:handle_abort=0", 1);
  for (const int signal : {SIGTERM, SIGKILL, SIGABRT, SIGSEGV, SIGINT}) {
    const Outcome outcome = Run({}, {"hsa", "signal", std::to_string(signal)});
    ASSERT_TRUE(WIFSIGNALED(outcome.status)) << signal;
    EXPECT_EQ(WTERMSIG(outcome.status), signal);
    EXPECT_EQ(Ask("trace.rpd", "select count(*) from kernel"), "10");
  }
}

TEST_F(RunCommand, PassesSignalsOnAndStillMakesATrace) {
  const fs::path ready = Work() / "ready";
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    fs::remove(ready);
    const pid_t child = Start(Line({}, {"hsa", "wait", ready.string()}));
    WaitFor(ready);
    kill(child, signal);
    const Outcome outcome = Finish(child);
    ASSERT_TRUE(WIFSIGNALED(outcome.status));
    EXPECT_EQ(WTERMSIG(outcome.status), signal);
    EXPECT_EQ(Ask("trace.rpd", "select count(*) from kernel"), "10");
  }
  fs::remove(ready);
  const pid_t child = Start(Line({}, {"hsa", "trap", ready.string()}));
  WaitFor(ready);
  kill(child, SIGTERM);
  EXPECT_EQ(Finish(child).code(), 33);
}

TEST_F(RunCommand, SetsTheEnvironment) {
  const auto value_of = [&](const char* name, const Arguments& options = {}) {
    std::string out = Run(options, {"env", name}).out;
    out.pop_back();
    return out;
  };
  std::string escaped;
  for (const char c : Agent().string()) escaped += (c == ' ' ? "\\" : "") + std::string(1, c);
  EXPECT_EQ(value_of("HSA_TOOLS_LIB"), escaped);  // there is a space in the path
  EXPECT_EQ(value_of("ROCHOUND_RECORD"), "kernels,copies,roctx,hip");
  EXPECT_EQ(value_of("ROCHOUND_RECORD", {"--no-hip", "--hsa", "--stacks"}),
            "kernels,copies,roctx,hsa,stacks");
  EXPECT_EQ(value_of("ROCHOUND_START"), "(unset)");
  EXPECT_EQ(value_of("ROCHOUND_START", {"--start-off"}), "off");
  EXPECT_EQ(value_of("ROCHOUND_KEEP", {"--last", "30s"}), "30s");
  EXPECT_EQ(value_of("ROCHOUND_KEEP", {"--last", "64MiB"}), "64MiB");
  EXPECT_EQ(value_of("ROCHOUND_DELAY", {"--delay", "500ms"}), "500ms");
  EXPECT_EQ(value_of("ROCHOUND_DURATION", {"--duration", "2m"}), "2m");
  EXPECT_EQ(value_of("ROCHOUND_RANGE", {"--range", "train step"}), "train step");
  EXPECT_EQ(value_of("ROCHOUND_LOG_DIR", {"--log-dir", "x/../log"}), (Work() / "log").string());
  EXPECT_EQ(value_of("HSA_TOOLS_ROCPROFILER_V1_TOOLS"), "1");
  EXPECT_EQ(value_of("ROCPROFILER_REGISTER_LIBRARY"), "(unset)");
  variables_["ROCHOUND_KEEP"] = "1s";
  EXPECT_EQ(value_of("ROCHOUND_KEEP"), "(unset)");
  variables_["HSA_TOOLS_LIB"] = "libother.so";
  EXPECT_EQ(value_of("HSA_TOOLS_LIB"), "libother.so " + escaped);
}

// rocprofiler-sdk sets variables in its own process; what that process starts inherits them.
TEST_F(RunCommand, AnswersWhatAnotherProfilerLeftBehind) {
  const auto value_of = [&](const char* name) {
    std::string out = Run({}, {"env", name}).out;
    out.pop_back();
    return out;
  };
  variables_["HSA_TOOLS_ROCPROFILER_V1_TOOLS"] = "0";
  EXPECT_EQ(value_of("HSA_TOOLS_ROCPROFILER_V1_TOOLS"), "1");
  // Another tool that is there may be wanted; one that is not there would end the program.
  variables_["ROCPROFILER_REGISTER_LIBRARY"] = ROCHOUND_TEST_AGENT;
  EXPECT_EQ(value_of("ROCPROFILER_REGISTER_LIBRARY"), ROCHOUND_TEST_AGENT);
  variables_["ROCPROFILER_REGISTER_LIBRARY"] = "librocprofiler-sdk.so";
  EXPECT_EQ(value_of("ROCPROFILER_REGISTER_LIBRARY"), "librocprofiler-sdk.so");
  variables_["ROCPROFILER_REGISTER_LIBRARY"] = "/no/such/librocprofiler-sdk.so";
  const Outcome outcome = Run({}, {"env", "ROCPROFILER_REGISTER_LIBRARY"});
  EXPECT_EQ(outcome.out, "(unset)\n");
  EXPECT_PRED_FORMAT2(IsSubstring, "/no/such/librocprofiler-sdk.so", outcome.err);
  // Our own, of a run around this one.
  variables_["ROCPROFILER_REGISTER_LIBRARY"] = Agent().string();
  EXPECT_EQ(value_of("ROCPROFILER_REGISTER_LIBRARY"), "(unset)");
}

TEST(RunEnvironment, TellsWhatALibraryExports) {
  const std::string library = base::ReadFile(ROCHOUND_TEST_AGENT).value();
  EXPECT_TRUE(codeobj::ExportsSymbol(library, "OnLoad"));
  EXPECT_FALSE(codeobj::ExportsSymbol(library, "rocprofiler_set_api_table"));
  EXPECT_FALSE(codeobj::ExportsSymbol(library, "malloc"));  // needed, not offered
  EXPECT_FALSE(codeobj::ExportsSymbol("", "OnLoad"));
  EXPECT_FALSE(codeobj::ExportsSymbol("root:x:0:0:root", "OnLoad"));
}

TEST_F(RunCommand, RefusesTimesThatItDoesNotKnow) {
  for (const char* text : {"500MS", "2M", "5h", "5 s", "0s"}) {
    const Outcome outcome = Run({"--delay", text}, {"print", "ran"});
    EXPECT_EQ(outcome.code(), 2) << text;
    EXPECT_EQ(outcome.out, "") << text;
    EXPECT_PRED_FORMAT2(IsSubstring, text, outcome.err);
  }
}

TEST_F(RunCommand, KeepsAnEarlierTrace) {
  ASSERT_TRUE(base::WriteFile(Work() / "trace.rpd", "earlier").ok());
  const Outcome first = Run({}, {"hsa", "exit", "0"});
  EXPECT_EQ(first.code(), 0) << first.err;
  EXPECT_PRED_FORMAT2(IsSubstring, "trace.1.rpd", first.err);
  EXPECT_EQ(base::ReadFile(Work() / "trace.rpd").value(), "earlier");
  EXPECT_EQ(Files(), (std::vector<std::string>{"trace.1.rpd", "trace.rpd"}));
  // A file that was asked for by name is the new one.
  const Outcome second = Run({"-o", "trace.rpd"}, {"hsa", "exit", "0"});
  EXPECT_EQ(second.code(), 0) << second.err;
  EXPECT_EQ(base::ReadFile(Work() / "trace.2.rpd").value(), "earlier");
  EXPECT_EQ(Ask("trace.rpd", "select count(*) from rocpd_metadata where tag = 'schema_version'"),
            "1");
  const Outcome third = Run({"--force"}, {"hsa", "exit", "0"});
  EXPECT_EQ(third.code(), 0) << third.err;
  EXPECT_EQ(Files(), (std::vector<std::string>{"trace.1.rpd", "trace.2.rpd", "trace.rpd"}));
}

TEST_F(RunCommand, AMisspeltGpuTouchesNothing) {
  fs::create_directories(dir_.path() / "share/rochound/devices");
  ASSERT_TRUE(base::WriteFile(Work() / "trace.rpd", "earlier").ok());
  const Outcome outcome = Run({"--force", "--softgpu", "mi300"}, {"print", "ran"});
  EXPECT_EQ(outcome.code(), 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(base::ReadFile(Work() / "trace.rpd").value(), "earlier");
  EXPECT_EQ(Files(), (std::vector<std::string>{"trace.rpd"}));
}

TEST_F(RunCommand, SaysByItsExitCodeThatNothingWasRecorded) {
  ASSERT_TRUE(base::WriteFile(Work() / "file", "").ok());
  const Outcome outcome = Run({"--log-dir", "file/log"}, {"hsa", "print", "ran", "exit", "0"});
  EXPECT_EQ(outcome.code(), 125);
  EXPECT_EQ(outcome.out, "ran\n");
  EXPECT_PRED_FORMAT2(IsSubstring, "nothing is recorded", outcome.err);
}

// rochound run ... 2>&1 | head
TEST_F(RunCommand, TheTraceIsWrittenThoughNobodyReadsTheMessages) {
  nobody_reads_ = true;
  EXPECT_EQ(Run({"-o", "warned.rpd"}, {"exit", "3"}).code(), 3);
  EXPECT_EQ(Ask("warned.rpd", "select what from rochound_lost"), "everything");
  EXPECT_EQ(Run({"-o", "told.rpd"}, {"hsa", "exit", "3"}).code(), 3);
  EXPECT_EQ(Files(), (std::vector<std::string>{"told.rpd", "warned.rpd"}));
}

TEST_F(RunCommand, WarnsWhenTheAgentWasNeverLoaded) {
  const Outcome outcome = Run({}, {"print", "no GPU here", "exit", "3"});
  EXPECT_EQ(outcome.code(), 3);
  EXPECT_EQ(outcome.out, "no GPU here\n");
  EXPECT_PRED_FORMAT2(IsSubstring, "nothing was recorded", outcome.err);
  EXPECT_PRED_FORMAT2(IsSubstring, "no process of the program was seen to use a GPU", outcome.err);
  EXPECT_EQ(Ask("trace.rpd", "select what from rochound_lost"), "everything");
  EXPECT_EQ(Files(), std::vector<std::string>{"trace.rpd"});
}

TEST_F(RunCommand, AGpuThatWasUsedUnseenIsAnError) {
  const Outcome outcome = Run({}, {"kfd", "print", "done", "exit", "0"});
  EXPECT_EQ(outcome.code(), 123);
  EXPECT_EQ(outcome.out, "done\n");
  EXPECT_PRED_FORMAT2(IsSubstring, "nothing was recorded: process", outcome.err);
  EXPECT_PRED_FORMAT2(IsSubstring, "used a GPU", outcome.err);
  EXPECT_EQ(Ask("trace.rpd", "select group_concat(what) from rochound_lost"),
            "everything,unrecorded process");
  // The program's own failure comes first.
  EXPECT_EQ(Run({}, {"kfd", "exit", "7"}).code(), 7);
  // The driver is open before the agent is loaded: that is how every recorded process begins.
  const Outcome recorded = Run({}, {"kfd", "hsa", "exit", "0"});
  EXPECT_EQ(recorded.code(), 0) << recorded.err;
  EXPECT_EQ(recorded.err.find("used a GPU"), std::string::npos) << recorded.err;
}

TEST_F(RunCommand, RunsTheProgramEvenIfNothingCanBeRecorded) {
  ASSERT_TRUE(base::WriteFile(Work() / "file", "").ok());
  const Outcome outcome = Run({"--log-dir", "file/log"}, {"hsa", "print", "ran", "exit", "4"});
  EXPECT_EQ(outcome.code(), 4);
  EXPECT_EQ(outcome.out, "ran\n");
  EXPECT_PRED_FORMAT2(IsSubstring, "nothing is recorded", outcome.err);

  fs::remove(Agent());
  const Outcome without_agent = Run({}, {"hsa", "print", "ran"});
  EXPECT_EQ(without_agent.code(), 125);
  EXPECT_EQ(without_agent.out, "ran\n");
  EXPECT_PRED_FORMAT2(IsSubstring, "librochound_agent.so", without_agent.err);
}

TEST_F(RunCommand, KeepsTheLogWhenTheTraceCannotBeWritten) {
  fs::create_directory(Work() / "trace.rpd");  // in the way
  const Outcome outcome = Run({}, {"hsa"});
  EXPECT_EQ(outcome.code(), 125);
  EXPECT_PRED_FORMAT2(IsSubstring, "rochound log recover", outcome.err);
  EXPECT_EQ(Files().size(), 2u);
  EXPECT_EQ(Run({"-o", "trace.rpd"}, {"hsa", "exit", "6"}).code(), 6);  // the program's goes first
}

TEST_F(RunCommand, LeavesALogThatCanBeRecoveredWhenBothAreKilled) {
  const fs::path ready = Work() / "ready";
  variables_["FAKE_AGENT"] = "killed";
  const pid_t child = Start(Line({}, {"hsa", "wait", ready.string()}), /*group=*/true);
  WaitFor(ready);
  ASSERT_EQ(kill(-child, SIGKILL), 0);
  EXPECT_EQ(WTERMSIG(Finish(child).status), SIGKILL);
  // The program goes a moment after its launcher; a log of a running process is told so.
  for (int i = 0; i < 2000 && kill(-child, 0) == 0; ++i) usleep(1000);
  fs::remove(ready);
  ASSERT_EQ(Files().size(), 1u);
  const std::string log = Files()[0];
  const Outcome recovered = Finish(Start({"log", "recover", log, "-o", "again.rpd"}));
  EXPECT_EQ(recovered.code(), 0) << recovered.err;
  EXPECT_EQ(recovered.out, "");
  EXPECT_PRED_FORMAT2(IsSubstring, "again.rpd: 1 process", recovered.err);
  EXPECT_EQ(Ask("again.rpd", "select count(*) from kernel"), "10");
  EXPECT_EQ(Ask("again.rpd", "select note from rochound_process"), "killed");
  EXPECT_EQ(Ask("again.rpd", "select value from rocpd_metadata where tag = 'rochound_command'"),
            std::string(ROCHOUND_TEST_PROGRAM) + " hsa wait " + ready.string());
  const Outcome lines =
      Finish(Start({"log", "recover", log, "--jsonl", "calls.jsonl", "--durations"}));
  EXPECT_EQ(lines.code(), 0) << lines.err;
  EXPECT_PRED_FORMAT2(IsSubstring, "kernel,dispatch,startNs,endNs\nwork(int*),1,", lines.out);
  const std::string calls = base::ReadFile(Work() / "calls.jsonl").value();
  EXPECT_EQ(std::count(calls.begin(), calls.end(), '\n'), 10);
}

TEST_F(RunCommand, RecoversWhatThereIs) {
  // A process that was killed before its first record.
  fs::create_directories(Work() / "log/process-4711-1");
  const Outcome empty = Finish(Start({"log", "recover", "log", "-o", "empty.rpd"}));
  EXPECT_EQ(empty.code(), 0) << empty.err;
  EXPECT_EQ(empty.err.find("! missing: everything"), 0u) << empty.err;
  EXPECT_EQ(Ask("empty.rpd", "select count(*) from api"), "0");
  // No log at all.
  EXPECT_EQ(Finish(Start({"log", "recover", "."})).code(), 125);
  EXPECT_EQ(Finish(Start({"log", "recover", "nothing"})).code(), 125);
  EXPECT_EQ(Files(), (std::vector<std::string>{"empty.rpd", "log"}));
}

TEST_F(RunCommand, TellsWhatIsMissingFirst) {
  variables_["FAKE_AGENT"] = "killed";
  const Outcome outcome = Run({}, {"hsa", "signal", "9"});
  EXPECT_EQ(WTERMSIG(outcome.status), 9);
  EXPECT_EQ(Ask("trace.rpd", "select note from rochound_process"), "killed");
  store::Summary summary;
  summary.lost = {{1, "kernel times", 3, "gone"}, {2, "kernel times", 4, "gone"}};
  const std::string text = SummaryText(summary, {});
  EXPECT_EQ(text.find("! missing: kernel times (7): gone\n"), 0u) << text;
  for (int i = 0; i < 100; ++i) summary.lost.push_back({1, fmt::format("thing {}", i), 1, "gone"});
  for (int i = 0; i < 100; ++i) summary.kernels_by_name[fmt::format("kernel {}", i)] = {1, i};
  const std::string longer = SummaryText(summary, {});
  EXPECT_EQ(std::count(longer.begin(), longer.end(), '\n'), 10) << longer;
}

TEST_F(RunCommand, WritesLines) {
  const Outcome outcome = Run({"--jsonl", "-", "--durations"}, {"print", "first", "hsa"});
  EXPECT_EQ(outcome.out.find("first\n"), 0u);
  EXPECT_PRED_FORMAT2(IsSubstring, "{\"timestamp\":", outcome.out);
  EXPECT_PRED_FORMAT2(IsSubstring, "kernel,dispatch,startNs,endNs\nwork(int*),1,", outcome.out);
  EXPECT_EQ(Run({"--jsonl", "calls.jsonl"}, {"hsa"}).out, "");
  const std::string lines = base::ReadFile(Work() / "calls.jsonl").value();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 10);
  variables_["LOGDUR_LOG_LOCATION"] = "durations.csv";
  EXPECT_EQ(Run({}, {"hsa"}).out, "");
  EXPECT_PRED_FORMAT2(IsSubstring, "work(int*),10,",
                      base::ReadFile(Work() / "durations.csv").value());
}

TEST_F(RunCommand, KeepsKernelsAndCallsThatMatch) {
  const auto kept = [&](const Arguments& options) {
    Arguments all = {"--force"};
    all.insert(all.end(), options.begin(), options.end());
    EXPECT_EQ(Run(all, {"hsa"}).code(), 0);
    return Ask("trace.rpd",
               "select (select count(*) from kernel) || ' kernels, ' || "
               "(select count(*) from api where apiName like 'hip%') || ' calls'");
  };
  EXPECT_EQ(kept({}), "10 kernels, 10 calls");
  EXPECT_EQ(kept({"--kernel", "^work", "--api", "Launch"}), "10 kernels, 10 calls");
  EXPECT_EQ(kept({"--kernel", "other"}), "0 kernels, 10 calls");
  EXPECT_EQ(kept({"--api", "hipGet"}), "10 kernels, 0 calls");
}

TEST_F(RunCommand, BeginsWithFindingsWhenAsked) {
  if (ROCHOUND_WITH_QUESTIONS == 0) GTEST_SKIP() << "built without DuckDB";
  const Outcome plain = Run({}, {"hsa"});
  const Outcome asked = Run({"--findings", "--force"}, {"hsa"});
  const std::string findings = Finish(Start({"explain", "trace.rpd"})).out;
  // How much the GPU was used is said in any case.
  const size_t usage_end = findings.find('\n') + 1, first_end = findings.find('\n', usage_end);
  const std::string usage = findings.substr(0, usage_end);
  const std::string first = findings.substr(usage_end, first_end - usage_end);
  EXPECT_EQ(asked.err.find(usage + first), 0u) << asked.err;
  EXPECT_EQ(plain.err.find("GPU 0 was busy "), 0u) << plain.err;
  EXPECT_EQ(plain.err.find(first), std::string::npos) << plain.err;
}

TEST(TraceOutput, SendsDurationsWhereLogdurationWould) {
  EXPECT_EQ(DurationsPlace(false, nullptr), std::nullopt);
  EXPECT_EQ(DurationsPlace(true, nullptr), "-");
  EXPECT_EQ(DurationsPlace(false, "console"), "-");
  EXPECT_EQ(DurationsPlace(false, "file"), "file");
  EXPECT_EQ(DurationsPlace(true, ""), "");
  EXPECT_EQ(DurationsPlace(false, ""), std::nullopt);
}

TEST_F(RunCommand, FollowsAndKeepsTheLogOfADaemon) {
  variables_["FAKE_AGENT"] = "killed";  // so that the log is not finished while it runs
  const Outcome outcome = Run({}, {"hsa", "daemon"});
  EXPECT_EQ(outcome.code(), 0);
  EXPECT_EQ(Ask("trace.rpd", "select group_concat(note) from rochound_process"),
            "killed,still running");
  EXPECT_PRED_FORMAT2(IsSubstring, "goes on", outcome.err);
  EXPECT_EQ(Files().size(), 2u);
}

TEST_F(RunCommand, SaysWhatIsWrongWithTheCommandLine) {
  const auto problem = [&](const Arguments& arguments, const char* words) {
    const Outcome outcome = Finish(Start(arguments));
    EXPECT_EQ(outcome.code(), 2);
    EXPECT_PRED_FORMAT2(IsSubstring, words, outcome.err);
    EXPECT_PRED_FORMAT2(IsSubstring, "rochound run --help", outcome.err);
  };
  problem({"run"}, "no program");
  problem({"run", "ls"}, "put -- before");
  problem({"run", "--last", "yesterday", "--", "ls"}, "yesterday");
  problem({"run", "--delay", "5 apples", "--", "ls"}, "apples");
  problem({"run", "--log-only", "--log-dir", "x", "-o", "y", "--", "ls"}, "--log-only");
  problem({"run", "--no-such-thing", "--", "ls"}, "no-such-thing");
  EXPECT_EQ(Files(), std::vector<std::string>{});
}

TEST_F(RunCommand, SaysWhenTheProgramCannotBeStarted) {
  EXPECT_EQ(Finish(Start({"run", "--", "no-such-program"})).code(), 127);
  EXPECT_EQ(Finish(Start({"run", "--", "/etc/passwd"})).code(), 126);
  EXPECT_EQ(Files(), std::vector<std::string>{});
  ASSERT_TRUE(base::WriteFile(Work() / "script", "echo shell; exit 9\n").ok());
  fs::permissions(Work() / "script", fs::perms::owner_all);
  const Outcome script = Finish(Start({"run", "--", "./script"}));
  EXPECT_EQ(script.out, "shell\n");
  EXPECT_EQ(script.code(), 9);
}

// The fake program stands in for one that is probed or captured.
TEST_F(RunCommand, OtherCommandsLeaveNoLogBehindThatCannotBegin) {
  const Outcome capture = Finish(
      Start({"capture", "--kernel", ".", "--softgpu", "no-such-gpu", "--", ROCHOUND_TEST_PROGRAM}));
  EXPECT_EQ(capture.code(), 2) << capture.err;
  const Outcome probe =
      Finish(Start({"probe", "--keep", "/proc/no/folder", "--", ROCHOUND_TEST_PROGRAM}));
  EXPECT_EQ(probe.code(), 125) << probe.err;
  EXPECT_PRED_FORMAT2(IsSubstring, "cannot make the folder", probe.err);
  EXPECT_EQ(Files(), std::vector<std::string>{});
}

TEST_F(RunCommand, ExplainsItself) {
  const Outcome help = Finish(Start({"run", "--help"}));
  EXPECT_EQ(help.code(), 0);
  EXPECT_PRED_FORMAT2(IsSubstring, "Usage: rochound run [OPTIONS] -- PROGRAM", help.out);
  EXPECT_PRED_FORMAT2(IsSubstring, "RPDT_FILENAME", help.out);
}

}  // namespace
}  // namespace rochound::cli
