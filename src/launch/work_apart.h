// SPDX-License-Identifier: MIT
//
// Runs a piece of our own work in a child process, so that it may crash, exit or never end without
// taking us along: analyzers that somebody else wrote. Called on main's thread while there is no
// other one.
#pragma once

#include <chrono>
#include <functional>

#include "base/result.h"

namespace rochound::launch {

// work: returns an exit code, in the child, which then ends without running destructors of ours.
// Fails if it did not come to its end: the message says how it ended instead.
base::Result<int> WorkApart(const std::function<int()>& work, std::chrono::nanoseconds limit);

}  // namespace rochound::launch
