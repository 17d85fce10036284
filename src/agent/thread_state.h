// SPDX-License-Identifier: MIT
//
// What the agent knows about the thread it runs on. A hook asks CurrentThread() and records into
// its log, without a lock: nobody else touches it. Attached at the thread's first record, detached
// when the thread ends; a thread that records again after that (from a destructor) attaches again.
#pragma once

#include <x86intrin.h>

#include <cstdint>

#include "trace/writer.h"

namespace rochound::agent {

struct ThreadState {
  trace::ThreadLog* log = nullptr;
  uint64_t correlation = 0;  // the runtime call under way that work is attributed to; 0: none
  bool inside = false;       // our own code runs: what it calls is not recorded
};

namespace internal {
struct ThreadSlot {
  ThreadState* state;
  bool attaching;
};
extern __thread ThreadSlot thread_slot __attribute__((tls_model("initial-exec")));
ThreadState* AttachThread();
}  // namespace internal

// Null when this thread cannot be recorded: no memory, no log, or asked from inside attaching.
inline ThreadState* CurrentThread() {
  ThreadState* state = internal::thread_slot.state;
  return __builtin_expect(state != nullptr, 1) ? state : internal::AttachThread();
}

inline uint64_t Tsc() { return __rdtsc(); }

// Marks our own code, for as long as it lives.
class Inside {
 public:
  explicit Inside(ThreadState* thread) : thread_(thread), before_(thread && thread->inside) {
    if (thread_) thread_->inside = true;
  }
  ~Inside() {
    if (thread_) thread_->inside = before_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  ThreadState* thread_;
  bool before_;
};

}  // namespace rochound::agent
