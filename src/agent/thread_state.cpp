// SPDX-License-Identifier: MIT
#include "agent/thread_state.h"

#include <pthread.h>

#include <new>

#include "agent/process_facts.h"
#include "agent/session.h"
#include "agent/state.h"

namespace rochound::agent::internal {

__thread ThreadSlot thread_slot __attribute__((tls_model("initial-exec"))) = {nullptr, false, 0};

namespace {

void ThreadEnds(void* value) {
  auto* state = static_cast<ThreadState*>(value);
  thread_slot.state = nullptr;
  RememberEndedThread();
  // A forked child inherits the parent's thread states; their log is not the child's.
  if (trace::Writer* log = Log(); log != nullptr) log->Detach(state->log);
  delete state;
}

// The key lives as long as the process: the library is never unloaded.
pthread_key_t ThreadKey(bool* ok) {
  static bool made = false;
  static const pthread_key_t key = [] {
    pthread_key_t fresh{};
    made = pthread_key_create(&fresh, ThreadEnds) == 0;
    return fresh;
  }();
  *ok = made;
  return key;
}

}  // namespace

ThreadState* AttachThread() {
  if (thread_slot.attaching || CurrentState() == State::kDisabled) return nullptr;
  const Busy busy;
  thread_slot.attaching = true;
  ThreadState* state = nullptr;
  trace::Writer* log = Log();
  bool key_ok = false;
  const pthread_key_t key = ThreadKey(&key_ok);
  if (log != nullptr && key_ok) state = new (std::nothrow) ThreadState;
  if (state != nullptr) {
    state->log = log->Attach();
    if (state->log == nullptr || pthread_setspecific(key, state) != 0) {
      if (state->log != nullptr) log->Detach(state->log);
      delete state;
      state = nullptr;
      Disable("no memory for a thread's log");
    }
  }
  thread_slot.state = state;
  thread_slot.attaching = false;
  return state;
}

}  // namespace rochound::agent::internal
