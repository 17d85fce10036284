// SPDX-License-Identifier: MIT
//
// Which threads and processes began and ended because of which others, as far as a trace tells. A
// trace has no record of threads being created or joined; it has the first and the last event of
// each, and when processes began and ended. Used by `critical-path`; one thread; cannot fail.
//
//   a process begins    with its own record or its first event, on its main thread. That is the
//                       one with the process's number, or else the one with the first event
//   a thread begins     with its first event. The main thread started it then; if that was in a
//                       runtime call, before the call
//   a child process     likewise, by the main thread of its parent, if that is in the trace
//   another process     begins when the last one before it was over, if one was: as in a script
//   a thread waits      for threads and child processes that it started, if they began and ended
//                       while it made no call and it went on soon: the time from the last start to
//                       the last end is at least as long as from there to the next call or start
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/host_threads.h"

namespace rochound::analysis {

struct HostProcess {
  int64_t pid = 0, parent = 0;
  int64_t begin = 0, end = 0;
};

struct ThreadOrder {
  struct Start {
    uint32_t thread, by;
    int64_t time;
  };
  struct After {
    uint32_t thread, before;
  };
  struct Join {
    uint32_t thread;
    int64_t begin, end;
    std::vector<uint32_t> joined;
  };
  std::vector<int64_t> begins;    // by thread
  std::vector<uint32_t> main_of;  // by thread: the main thread of its process
  std::vector<Start> starts;
  std::vector<After> afters;
  std::vector<Join> joins;  // those of a thread do not overlap
};

// Processes that are not known have their threads all the same.
ThreadOrder FindThreadOrder(const HostThreads& threads, const std::vector<HostProcess>& processes);

}  // namespace rochound::analysis
