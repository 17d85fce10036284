// SPDX-License-Identifier: MIT
//
// One call of a tool, from its arguments to the result that goes to the client. The server's worker
// threads make calls, several at a time. The work is a child process, `rochound COMMAND`, in a
// process group of its own. What is wrong with a call, and what goes wrong in it, is a result with
// isError, which an assistant can read and act on.
//
// Tools that only read are confined by the kernel as far as it can (optimize/confinement.h): they
// write nothing but a folder for the call, which is removed afterwards, have no network, and read
// nothing but the allowed folders and the system's own (the doctor reads all that the user may).
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "mcp/folders.h"
#include "mcp/page.h"
#include "mcp/tool.h"

namespace rochound::mcp {

struct CallSettings {
  std::filesystem::path rochound;        // the command itself
  std::vector<std::string> environment;  // lines NAME=value
  Folders folders;
  std::chrono::seconds timeout;
};

// progress: called about ten times a second while the command runs, with its seconds and the last
// line that it said on stderr. When it returns false, the process group is ended, and the result is
// null.
Json CallTool(const Tool& tool, const Json& arguments, const CallSettings& settings,
              KeptAnswers* kept,
              const std::function<bool(double seconds, const std::string& line)>& progress);

// A result that says what is wrong.
Json ErrorResult(const std::string& problem);

// What the kernel cannot keep calls from doing; empty: nothing.
std::vector<std::string> ConfinementGaps(const CallSettings& settings);

}  // namespace rochound::mcp
