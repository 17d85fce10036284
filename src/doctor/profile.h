// SPDX-License-Identifier: MIT
//
// A setting that is kept: a small file for the login (~/.config/environment.d) or for the shell,
// which is written and removed again without a trace. Called by the command line; one thread.
// Nobody else's file is ever changed, and what was edited by hand is not removed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/settings.h"

namespace rochound::doctor {

// Text as one word of a shell's command line, in quotes where a shell would make something else of
// it.
std::string ShellWord(const std::string& text);

// Where a profile of this name is, unless told otherwise. config: ~/.config.
std::filesystem::path ProfilePlace(const std::filesystem::path& config, const std::string& name);

struct Change {
  std::filesystem::path file;
  std::string content;                         // what will are there; for Undo: what is there
  std::vector<std::filesystem::path> folders;  // that are made or removed with it, outermost first
  bool nothing = false;                        // it is so already
};

// What applying would do. Files ending in .sh become exports, others lines of environment.d.
base::Result<Change> PlanApply(const Setting& setting, const std::filesystem::path& file);
base::Result<void> Apply(const Change& change);

// What undoing would do: remove the file and the folders that Apply made, if they are empty then.
base::Result<Change> PlanUndo(const std::filesystem::path& file);
base::Result<void> Undo(const Change& change);

}  // namespace rochound::doctor
