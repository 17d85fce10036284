// SPDX-License-Identifier: MIT
//
// What rochound-replay can be asked for. Each says its answer and ends the process. Main thread.
#pragma once

#include <string>
#include <vector>

#include "capture/replay/answer.h"
#include "capture/replay/session.h"

namespace rochound::capture::replay {

// check and run. arguments: those of the process, should it have to start anew.
[[noreturn]] void Run(const Options& options, const std::vector<std::string>& arguments,
                      Answer& answer);

// Finds memory that the captured code writes and does not read: `poison` for the other two. A fault
// or a hang on the way ends the process; what was being tried is in the answer, so that whoever
// started it goes on without that.
[[noreturn]] void FindPoison(const Options& options, const std::vector<std::string>& arguments,
                             Answer& answer);

[[noreturn]] void Compare(const Options& options, const std::vector<std::string>& arguments,
                          Answer& answer);

}  // namespace rochound::capture::replay
