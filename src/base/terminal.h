// SPDX-License-Identifier: MIT
//
// What is known about the terminal that stdout goes to. Any thread.
#pragma once

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>

namespace rochound::base {

// 100 where there is none.
inline size_t TerminalWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
  return 100;
}

inline bool ColourOnStdout() { return isatty(STDOUT_FILENO) != 0 && getenv("NO_COLOR") == nullptr; }

}  // namespace rochound::base
