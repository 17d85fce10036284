// SPDX-License-Identifier: MIT
//
// What ended a run, in words: for every command that tells about a run, so that all tell the same
// story. Plain data in, text out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rochound::store {

// The status of a run of which a process was killed, and whoever would have told its status, too.
inline constexpr const char* kKilled = "killed";

struct RunEnding {
  std::string status{};      // "exit 0", "signal 11", kKilled; empty: not known
  std::string fault{};       // how a GPU failed, in a sentence; empty: none did
  std::string evidence{};    // where that is written down
  std::string unfit_code{};  // "code for gfx1030, and none for gfx942"; empty: not known
  std::string open_call{};   // of HIP, which had not returned; empty: all had
  // Nothing is missing but what was in flight at the end: what is not there did not happen.
  bool complete = true;
  int64_t calls = 0;    // of HIP
  int64_t kernels = 0;  // of the program
  int64_t copies = 0;   // and fills, also by kernels of the runtime
};

struct EndingText {
  std::string sentence;
  std::string advice;
  bool stopped = false;  // by somebody: that is no mistake by itself
};

// Nothing where a run ended well and used the GPU, or where it is not known. trace: for commands.
std::optional<EndingText> TellEnding(const RunEnding& run, const std::string& trace);

// "signal 11" -> 11; a shell's "exit 139", too, since it ends so where its program was killed. 0:
// no signal ended it.
int SignalOf(const std::string& status);

// "SIGINT (Ctrl-C)".
std::string SignalName(int number);

}  // namespace rochound::store
