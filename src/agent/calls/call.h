// SPDX-License-Identifier: MIT
//
// One recorded call, from the wrapper's point of view: Begin before the runtime's function, End
// after it. Hot path of the agent: the calling thread writes into its own log, without a lock, an
// allocation or a system call. When there is nothing to record (idle, disabled, our own code, a HIP
// call inside a HIP call) Begin says no and the wrapper only passes the call on.
//
// Order in the log, all with the call's correlation: stack frames and text pieces when it begins,
// argument words and the call itself when it has ended. RCCL's calls may wait for other processes:
// their argument words are written when they begin.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/state.h"
#include "agent/thread_state.h"

namespace rochound::agent {

// What the call recorders keep per thread beside ThreadState. Plain memory, never freed.
struct CallState {
  uint32_t hip_depth = 0;      // HIP calls in flight: only the outermost one is the program's
  uint32_t range_depth = 0;    // user ranges pushed and not popped
  uint64_t range_written = 0;  // by depth: whether the push is in the log
  uint64_t stack_low = 0;      // the thread's stack, once asked for; see stacks.h
  uint64_t stack_high = 0;
};
extern __thread CallState call_state __attribute__((tls_model("initial-exec")));

enum class Domain : uint8_t { kHsa, kHip, kRccl };

struct Call {
  ThreadState* thread;
  uint64_t correlation;
  uint64_t begin_tsc;
  uint64_t outer;  // correlation of the call around this one, 0: none
  uint16_t function;
  Domain domain;
};

namespace internal {
extern std::atomic<bool> record_stacks;                      // settings().stacks
void WriteStack(ThreadState* thread, uint64_t correlation);  // stacks.h
void WriteText(ThreadState* thread, uint64_t correlation, uint32_t argument, const char* text);
}  // namespace internal

// At most so many characters of a text argument are kept; the record tells its full length.
inline constexpr size_t kMaxTextBytes = 400;
// And no further than this is its end looked for.
inline constexpr size_t kMaxTextLength = 65536;

// False: do not record this call. Otherwise *call is in flight and End must follow.
template <Domain kDomain>
inline bool BeginCall(Call* call, uint16_t function) {
  if (!Recording()) return false;
  ThreadState* thread = CurrentThread();
  if (thread == nullptr || thread->inside) return false;
  if constexpr (kDomain == Domain::kHip) {
    if (call_state.hip_depth != 0) return false;
    call_state.hip_depth = 1;
  }
  call->thread = thread;
  call->function = function;
  call->domain = kDomain;
  call->correlation = thread->log->NextCorrelation();
  // Whatever a HIP call is in is not a call that work could be attributed to.
  call->outer = kDomain == Domain::kHip ? 0 : thread->correlation;
  if (internal::record_stacks.load(std::memory_order_relaxed)) [[unlikely]]
    internal::WriteStack(thread, call->correlation);
  // RCCL works by HIP's calls, and work belongs to those.
  if (kDomain != Domain::kRccl && call->outer == 0) thread->correlation = call->correlation;
  call->begin_tsc = trace::ReadTsc();
  thread->log->OpenCall(function, call->begin_tsc, call->correlation);
  return true;
}

// The call has returned; its argument words were written before, by one of the two below.
inline void EndCall(const Call& call, uint64_t end_tsc, uint32_t result) {
  ThreadState* thread = call.thread;
  if (call.domain == Domain::kHip) call_state.hip_depth = 0;
  thread->correlation = call.outer;
  thread->log->CloseCall();
  if (auto* record = thread->log->Reserve<trace::ApiCall>()) {
    record->begin_tsc = call.begin_tsc;
    record->end_tsc = end_tsc;
    record->correlation = call.correlation;
    thread->log->Commit(record, call.function, result);
  }
}

// Argument words that fit one record, which is most calls: put(words) writes them in their place.
inline constexpr size_t kWordsPerRecord = 6;
template <size_t kWords, typename Put>
inline void WriteFewWords(const Call& call, Put put) {
  static_assert(kWords <= kWordsPerRecord);
  if (auto* record = call.thread->log->Reserve<trace::ApiArguments>()) {
    record->correlation = call.correlation;
    put(record->words);
    call.thread->log->Commit(record, kWords, 0);
  }
}
void WriteWords(const Call& call, const uint64_t* words, size_t count);

// A text argument of a call that is beginning. Null texts have no pieces.
inline void WriteTextArgument(const Call& call, uint32_t argument, const char* text) {
  if (text != nullptr) internal::WriteText(call.thread, call.correlation, argument, text);
}

}  // namespace rochound::agent
