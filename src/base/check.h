// SPDX-License-Identifier: MIT
//
// ROCHOUND_DCHECK(condition): what must be so, whatever the program, the GPU or a file does. For
// invariants of our own code only: what strangers can cause is an error to be handled. Any thread, no
// lock, no memory. On where CMake's option ROCHOUND_CHECKS is (presets asan, tsan and fuzz, and CI's
// build of everything); elsewhere, and so in packages, the condition is compiled and not evaluated.
//
// A check that fails writes one line to stderr and aborts. The agent's library sets another handler
// (agent/failed_check.cpp), which disables the recorder: the program goes on, and so does the code
// after the check.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace rochound::base {

// what: a constant text, such as "src/trace/writer.cpp:12: used <= size does not hold".
using CheckHandler = void (*)(const char* what);

namespace internal {
inline constinit std::atomic<CheckHandler> check_handler{nullptr};
}

// Null: the usual one, which aborts. Returns the one before.
inline CheckHandler SetCheckHandler(CheckHandler handler) {
  return internal::check_handler.exchange(handler);
}

[[gnu::cold, gnu::noinline]] inline void CheckFailed(const char* what) {
  if (const CheckHandler handler = internal::check_handler.load()) return handler(what);
  constexpr char kStart[] = "rochound: check failed: ";
  ssize_t written = write(STDERR_FILENO, kStart, sizeof kStart - 1);
  written += write(STDERR_FILENO, what, strlen(what));
  written += write(STDERR_FILENO, "\n", 1);
  static_cast<void>(written);  // nobody is left to be told
  abort();
}

}  // namespace rochound::base

#define ROCHOUND_CHECK_TEXT_OF(number) #number
#define ROCHOUND_CHECK_TEXT(number) ROCHOUND_CHECK_TEXT_OF(number)

#ifdef ROCHOUND_CHECKS
#define ROCHOUND_DCHECK(condition)                                                                \
  (static_cast<bool>(condition) ? static_cast<void>(0)                                            \
                                : ::rochound::base::CheckFailed(__FILE__ ":" ROCHOUND_CHECK_TEXT( \
                                      __LINE__) ": " #condition " does not hold"))
#else
#define ROCHOUND_DCHECK(condition) static_cast<void>(false && static_cast<bool>(condition))
#endif
