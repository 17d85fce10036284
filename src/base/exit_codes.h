// SPDX-License-Identifier: MIT
//
// Exit codes of the rochound command. Those above 122 are env's and the shell's, so that scripts
// know them: a command that starts a program keeps every other code for the program.
#pragma once

namespace rochound::base {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 1;  // a command that starts no program: it did not all work
inline constexpr int kExitUsage = 2;    // the command line is wrong
inline constexpr int kExitUnrecorded = 123;  // the program used a GPU, but nothing was recorded
inline constexpr int kExitSetup = 125;  // the command line is right, but we could not do our part
inline constexpr int kExitCannotRun = 126;  // the program is there but cannot be started
inline constexpr int kExitNotFound = 127;   // the program is not there

}  // namespace rochound::base
