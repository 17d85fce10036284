// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <unistd.h>

#include <cstdlib>

#include "base/printable.h"

namespace rochound::base {
namespace {

struct LevelText {
  LogLevel level;
  std::string_view name;
  std::string_view prefix;  // nothing for plain information
  std::string_view colour;
};

constexpr LevelText kLevels[] = {
    {LogLevel::kError, "error", "error: ", "\033[31m"},
    {LogLevel::kWarning, "warning", "warning: ", "\033[33m"},
    {LogLevel::kInfo, "info", "", ""},
    {LogLevel::kDebug, "debug", "debug: ", "\033[2m"},
};

LogLevel LeastImportantShown() {
  const char* name = getenv("ROCHOUND_LOG");
  return name ? ParseLogLevel(name).value_or(LogLevel::kInfo) : LogLevel::kInfo;
}

bool UseColour() {
  const char* no_colour = getenv("NO_COLOR");
  return isatty(STDERR_FILENO) && !(no_colour && *no_colour);
}

}  // namespace

std::optional<LogLevel> ParseLogLevel(std::string_view name) {
  for (const LevelText& text : kLevels) {
    if (text.name == name) return text.level;
  }
  return std::nullopt;
}

std::string FormatLogLine(LogLevel level, std::string_view message, bool colour) {
  const LevelText& text = kLevels[static_cast<int>(level)];
  std::string line = "rochound: ";
  if (colour) line += text.colour;
  line += text.prefix;
  if (colour && !text.colour.empty()) line += "\033[0m";
  // It may name what is in somebody else's file.
  line += Printable(message, "\n\t");
  line += '\n';
  return line;
}

void Log(LogLevel level, std::string_view message) {
  if (level > LeastImportantShown()) return;
  const std::string line = FormatLogLine(level, message, UseColour());
  ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  (void)written;  // nobody is left to be told
}

}  // namespace rochound::base
