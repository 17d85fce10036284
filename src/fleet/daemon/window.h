// SPDX-License-Identifier: MIT
//
// Copies the part of a process's flight log that holds a span of time into a folder of its own, a
// flight log that every command opens. Works on logs that are being written, without the process.
// Whole chunks are copied: every record of the span is there, and some beside it. Any thread; a log
// that cannot be read is an Error.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace rochound::fleet {

struct WindowSize {
  uint64_t chunks = 0;
  uint64_t bytes = 0;
  // Records before this time may have been recycled; 0: none was. CLOCK_REALTIME.
  uint64_t complete_from_ns = 0;
};

// `to` is made, and refused if it is there; from_ns and to_ns are of CLOCK_REALTIME. Files that are
// not the log's owner's are left out.
base::Result<WindowSize> CopyWindow(const std::filesystem::path& log, uint64_t from_ns,
                                    uint64_t to_ns, const std::filesystem::path& to);

}  // namespace rochound::fleet
