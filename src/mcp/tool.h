// SPDX-License-Identifier: MIT
//
// The tools of the server: each is one of rochound's commands. A tool's parameters are described
// once, in the table of tool.cpp; the JSON Schema that clients see, the check of what they send and
// the command line are made from it. Pure but for looking at paths; any thread.
//
// What a client sends never becomes an option: values are after "--option=", paths begin with
// "/", programs come after "--".
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "mcp/folders.h"
#include "mcp/message.h"

namespace rochound::mcp {

struct Parameter {
  enum class Kind {
    kText,
    kChoice,   // one of `choices`
    kCount,    // an integer of at least `least`
    kNumber,   // not negative
    kFlag,     // the option alone, if true
    kPath,     // something that is there
    kPaths,    // several of them, at least one
    kNewPath,  // something that is written
    kProgram,  // a program and its arguments, an array
  };

  const char* name;
  Kind kind;
  const char* about;
  const char* option;  // "--kernel"; empty: it is alone on the command line, in this order
  bool required = false;
  std::vector<std::string> choices = {};
  int least = 1;
};

struct Tool {
  const char* name;
  const char* title;
  const char* about;  // one sentence
  bool runs;          // starts programs: only with --allow-run
  bool needs_traces;  // needs DuckDB
  std::vector<Parameter> parameters;
  std::vector<std::string> fixed;  // options that are always there
};

// A call that can be made: a command line, and where its answer will be.
struct Invocation {
  enum class Answer { kOutput, kFile, kLines, kMade };

  std::vector<std::string> arguments;  // after "rochound"
  // The answer is the JSON on stdout, the JSON in `file`, the lines of JSON in `file`, or that
  // `file` is there.
  Answer answer = Answer::kOutput;
  std::filesystem::path file;
  std::string made;  // what `file` is called in the answer
};

// questions: what `explain` can be asked; empty: there is no DuckDB, and no tool that needs it.
std::vector<Tool> MakeTools(const std::vector<std::string>& questions, bool allow_run);

// As tools/list shows it.
Json ToolJson(const Tool& tool);

// scratch: a folder for this call. Fails with what the client should send instead.
base::Result<Invocation> MakeInvocation(const Tool& tool, const Json& arguments,
                                        const Folders& folders,
                                        const std::filesystem::path& scratch);

}  // namespace rochound::mcp
