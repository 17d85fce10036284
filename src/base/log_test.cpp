// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace rochound::base {
namespace {

std::string Captured(const char* level, void (*log)(std::string_view), std::string_view message) {
  level ? setenv("ROCHOUND_LOG", level, 1) : unsetenv("ROCHOUND_LOG");
  testing::internal::CaptureStderr();
  log(message);
  std::string text = testing::internal::GetCapturedStderr();
  unsetenv("ROCHOUND_LOG");
  return text;
}

TEST(Log, NamesTheLevel) {
  EXPECT_EQ(FormatLogLine(LogLevel::kError, "no", false), "rochound: error: no\n");
  EXPECT_EQ(FormatLogLine(LogLevel::kWarning, "well", false), "rochound: warning: well\n");
  EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "yes", false), "rochound: yes\n");
}

TEST(Log, ColourEndsBeforeTheMessage) {
  EXPECT_EQ(FormatLogLine(LogLevel::kError, "no", true), "rochound: \033[31merror: \033[0mno\n");
  EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "yes", true), "rochound: yes\n");
}

TEST(Log, NoColourIntoAPipe) {
  EXPECT_EQ(Captured(nullptr, LogError, "broken"), "rochound: error: broken\n");
}

TEST(Log, DebugIsSilentUnlessAskedFor) {
  EXPECT_EQ(Captured(nullptr, LogDebug, "detail"), "");
  EXPECT_EQ(Captured("debug", LogDebug, "detail"), "rochound: debug: detail\n");
}

TEST(Log, LevelsBelowTheChosenAreSilent) {
  EXPECT_EQ(Captured("error", LogWarning, "well"), "");
  EXPECT_EQ(Captured("error", LogError, "no"), "rochound: error: no\n");
}

TEST(Log, AnUnknownLevelIsAsIfUnset) {
  EXPECT_FALSE(ParseLogLevel("loud").has_value());
  EXPECT_EQ(Captured("loud", LogInfo, "yes"), "rochound: yes\n");
}

}  // namespace
}  // namespace rochound::base
