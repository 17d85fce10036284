// SPDX-License-Identifier: MIT
//
// Copy calls of which the trace has no copy: other recorders may leave out what the GPU copied.
#pragma once

#include <string>

#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::store {

// Adds a row to rochound_lost of the schema for each function that asked for copies of which none
// is in the trace, neither as a copy nor as a kernel. To be called when calls and operations are
// linked. Copies within the host's memory are no work of a GPU, and calls of a stream capture copy
// nothing themselves: they do not count.
base::Result<void> TellUnrecordedCopies(duck::Connection& connection, const std::string& schema);

}  // namespace rochound::store
