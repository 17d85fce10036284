// SPDX-License-Identifier: MIT
//
// Compiles a candidate's source into a code object, twice, and gives it only if both are the same:
// a verdict about one build says nothing about another. The source comes from anybody; the compiler
// runs confined, and sees the source's folder and the system's. Starts processes; any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "optimize/reason.h"

namespace rochound::optimize {

struct BuildRequest {
  std::filesystem::path hipcc;
  std::filesystem::path source;
  std::filesystem::path folder;  // of our own, for what is made
  std::string target;            // "gfx942"
  std::vector<std::string> flags;
  std::vector<std::filesystem::path> headers;  // files elsewhere that may be read, too
  double limit_seconds = 120;
};

struct Built {
  bool ok = false;
  Rejection rejection;  // if not
  std::string object;   // the code object's bytes
  std::string log;      // what the compiler said
  std::vector<std::string> gaps;
};

// Whether this is something to be compiled: neither a code object, nor a bundle or program.
bool IsSource(const std::filesystem::path& path, std::string_view bytes);

// Files that a source includes by quoted names, and those that they include, as far as they are
// found beside each other. Reads them as text; no macros.
std::vector<std::filesystem::path> HeadersOf(const std::filesystem::path& source);

// An error only where the compiler could not be started.
base::Result<Built> BuildTwice(const BuildRequest& request);

// The variables of this process for a child that runs what somebody else wrote: without what looks
// like a secret, with temporary files in this folder. Lines NAME=value.
std::vector<std::string> HarmlessEnvironment(const std::filesystem::path& folder);

}  // namespace rochound::optimize
