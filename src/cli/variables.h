// SPDX-License-Identifier: MIT
//
// Every environment variable of rochound, described once: `rochound reference` prints this table,
// and docs/reference/environment.md and the man pages are made of that. The test docs-environment
// compares it with the names that the sources read. Constant data, any thread.
#pragma once

#include <cstdint>
#include <span>

namespace rochound::cli {

// Who sets a variable.
enum class SetBy : uint8_t {
  kPerson,   // in the shell; nothing else sets it
  kOption,   // an option of a command sets it; also a person who does without the command
  kCommand,  // a command sets it for the processes that it starts, and nobody else should
  kTest,     // tests of rochound
};

struct EnvironmentVariable {
  const char* name;
  SetBy set_by;
  const char* instead;  // the option, or the command; for a person's, who reads it
  const char* value;    // what it may be
  const char* about;    // what it does, and what holds without it
};

std::span<const EnvironmentVariable> EnvironmentVariables();

}  // namespace rochound::cli
