// SPDX-License-Identifier: MIT
//
// Where recorded programs put their control sockets and how such a directory is opened without
// being led astray. The agent and `rochound ctl` must agree on it; any thread, nothing is kept.
// docs/formats/control.md describes what is spoken there.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::base {

// What the environment of a program says; null: not set.
struct ControlEnvironment {
  const char* control_directory = nullptr;  // ROCHOUND_CONTROL_DIR
  const char* runtime_directory = nullptr;  // XDG_RUNTIME_DIR

  static ControlEnvironment OfThisProcess();
};

// The directories where a program of this user may have its socket, best first: the one that
// ROCHOUND_CONTROL_DIR names and no other, else XDG_RUNTIME_DIR's and the one in /tmp. None when
// ROCHOUND_CONTROL_DIR is set but empty: the program is not to be controlled.
std::vector<std::string> ControlDirectories(const ControlEnvironment& environment, uid_t user);

// A descriptor (close-on-exec, yours to close) of a directory that is `user`'s and open to nobody
// else. Everything is then reached through the descriptor, so that nobody can put another one in
// its place. Refused: symbolic links, other owners, access for group or others.
Result<int> OpenPrivateDirectory(const std::string& path, uid_t user);

// The same after making the directory, if it is not there; not its parents.
Result<int> MakePrivateDirectory(const std::string& path, uid_t user);

// The name of a process's socket in such a directory.
std::string ControlSocketName(pid_t process);

// The process that a socket's name names; 0: not a socket's name.
pid_t ControlSocketProcess(const std::string& name);

// The path by which bind and connect reach a name in an open directory, however long the
// directory's own path is.
std::string PathThrough(int directory, const std::string& name);

}  // namespace rochound::base
