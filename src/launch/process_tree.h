// SPDX-License-Identifier: MIT
//
// What /proc tells about processes. Read afresh at each call; a process that ends meanwhile is as
// if it had not been there.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace rochound::launch {

// The process and all its descendants, parents first; empty: there is no such process.
std::vector<pid_t> ProcessTree(pid_t root);

bool ProcessExists(pid_t process);

// The command line, its arguments separated by spaces; the name in brackets for a process that has
// none, empty for one that is not there.
std::string ProcessCommand(pid_t process);

// Root where the kernel protects the process from its user: it has changed users, or asked for it.
std::optional<uid_t> ProcessUser(pid_t process);
// Whose rights the process has, also then.
std::optional<uid_t> EffectiveUser(pid_t process);

// A variable of the environment that the process was started with; nothing: not set, or not ours to
// read.
std::optional<std::string> ProcessVariable(pid_t process, const std::string& name);

}  // namespace rochound::launch
