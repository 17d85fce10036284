// SPDX-License-Identifier: MIT
//
// A rochound that was built without DuckDB: trace_commands_absent.cpp is linked into this test, in
// the place of trace_commands.cpp.

#include <gtest/gtest.h>
#include <stdio.h>

#include <CLI/CLI.hpp>
#include <set>
#include <sstream>
#include <string>

#include "base/exit_codes.h"
#include "cli/trace_commands.h"

namespace rochound::cli {
namespace {

// The commands that the real rochound has.
std::set<std::string> AllCommands() {
  std::string text;
  FILE* pipe = popen(ROCHOUND_TEST_COMMAND " --help", "r");
  char buffer[4096];
  while (const size_t bytes = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, bytes);
  pclose(pipe);
  std::set<std::string> names;
  const size_t at = std::min(text.find("ubcommands:"), text.find("UBCOMMANDS:"));
  std::istringstream lines(at == std::string::npos ? "" : text.substr(at));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    if (line.rfind("  ", 0) != 0 || line.size() < 3 || line[2] == ' ') continue;
    names.insert(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

TEST(AbsentCommands, EachSaysThatItNeedsDuckDb) {
  CLI::App app;
  Commands commands;
  AddTraceCommands(app, commands);
  for (const auto& command : commands) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(command->Run({}), base::kExitSetup);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("built without DuckDB, which " + command->name() + " needs"),
              std::string::npos)
        << said;
  }
}

TEST(AbsentCommands, AreThoseThatNeedIt) {
  std::set<std::string> expected = AllCommands();
  ASSERT_TRUE(expected.contains("run"));
  for (const char* name : {"run", "ctl", "capture", "show", "replay", "doctor", "selftest", "log",
                           "softgpu", "swap", "probe", "profile", "judge", "optimize", "mcp"})
    expected.erase(name);
  CLI::App app;
  Commands commands;
  AddTraceCommands(app, commands);
  std::set<std::string> absent;
  for (const auto& command : commands) absent.insert(command->name());
  EXPECT_EQ(absent, expected);
}

}  // namespace
}  // namespace rochound::cli
