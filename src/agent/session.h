// SPDX-License-Identifier: MIT
//
// The agent's life in one process: opens the log on first use, runs the drain thread, and leaves
// cleanly however the program ends. Set-up may come from any of the ways we are loaded, several of
// them in one process; it happens once. Every function may be called on any thread and never fails
// outward: failure disables the agent.
#pragma once

#include <pthread.h>

#include <functional>
#include <string>
#include <string_view>

#include "agent/state.h"
#include "agent/thread_state.h"
#include "trace/writer.h"

namespace rochound::agent {

// Opens the log and arms. True: recording is possible (now or when switched on).
bool SetUp();

// The process's log; null before SetUp, after a failure, and in a forked child until it records.
trace::Writer* Log();

// Brings everything that is finished into the log, waiting at most a moment for GPU work in flight.
void Flush();

// Runs a function while the drain thread does nothing, or after a second without that.
void WithoutDrainThread(const std::function<void()>& function);

// Work for the drain thread: wakes it early (a system call; not for the hot path).
void WakeDrainThread();

// A detached thread of ours: it takes none of the program's signals, and its stack is small.
bool StartThread(void* (*function)(void*));

// The id of a text, or 0. Keeps no cache.
uint32_t Intern(std::string_view text);

// Adds a line "key=value" to the process's info file, as it will be at the next WriteInfo.
void AddInfo(std::string_view key, std::string_view value);
void DropInfo(std::string_view key);  // all lines of that key
void WriteInfo();

// The program and its arguments, separated by spaces.
std::string CommandLine();

// A thread that is cancelled (pthread_cancel) unwinds at its next cancellation point, which must
// not be one in our code: it goes on to the program's next.
class NotCancelled {
 public:
  NotCancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Runs our own code so that nothing escapes: an exception (no memory) disables the agent.
template <typename Function>
void Guarded(const char* what, Function function) noexcept {
  const NotCancelled whole;
  const Busy busy;
  try {
    function();
  } catch (...) {
    Disable(what);
  }
}

}  // namespace rochound::agent
