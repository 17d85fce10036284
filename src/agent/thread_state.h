// SPDX-License-Identifier: MIT
//
// What the agent knows about the thread it runs on. A hook asks CurrentThread() and records into
// its log, without a lock: nobody else touches it. Attached at the thread's first record, detached
// when the thread ends; a thread that records again after that (from a destructor) attaches again.
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "trace/tsc.h"
#include "trace/writer.h"

namespace rochound::agent {

struct ThreadState {
  trace::ThreadLog* log = nullptr;
  uint64_t correlation = 0;  // the runtime call in flight that work is attributed to; 0: none
  bool inside = false;       // our own code runs: what it calls is not recorded
};

namespace internal {
struct ThreadSlot {
  ThreadState* state;
  bool attaching;
  uint32_t busy;
};
extern __thread ThreadSlot thread_slot __attribute__((tls_model("initial-exec")));
ThreadState* AttachThread();
}  // namespace internal

// Null when this thread cannot be recorded: no memory, no log, or asked from inside attaching.
inline ThreadState* CurrentThread() {
  ThreadState* state = internal::thread_slot.state;
  return __builtin_expect(state != nullptr, 1) ? state : internal::AttachThread();
}

// Our code may hold locks on this thread, for as long as it lives. A signal handler that interrupts
// it and calls exit brings us back to the same thread, where nothing may wait for a lock then.
class Busy {
 public:
  Busy() {
    ++internal::thread_slot.busy;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Busy() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ROCHOUND_DCHECK(internal::thread_slot.busy != 0);
    --internal::thread_slot.busy;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
};

// A hook that finds it so is in such a handler, or in an exit handler after it: it records nothing,
// and waits for nothing that the interrupted code may hold.
inline bool IsBusy() { return internal::thread_slot.busy != 0; }

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
