// SPDX-License-Identifier: MIT
//
// Messages for people, on stderr. Called by the command line tool and by the software GPU; any
// thread and any process, each message is one write so that lines of several processes do not mix.
// Colour only on a terminal and only without NO_COLOR. The environment variable ROCHOUND_LOG
// (error, warning, info, debug) picks the least important level shown; without it that is info.
// Never fails: a message that cannot be written is lost.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rochound::base {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

void Log(LogLevel level, std::string_view message);

inline void LogError(std::string_view message) { Log(LogLevel::kError, message); }
inline void LogWarning(std::string_view message) { Log(LogLevel::kWarning, message); }
inline void LogInfo(std::string_view message) { Log(LogLevel::kInfo, message); }
inline void LogDebug(std::string_view message) { Log(LogLevel::kDebug, message); }

// The parts of Log, for its test: what a name in ROCHOUND_LOG means, and the line that is written.
std::optional<LogLevel> ParseLogLevel(std::string_view name);
std::string FormatLogLine(LogLevel level, std::string_view message, bool colour);

}  // namespace rochound::base
