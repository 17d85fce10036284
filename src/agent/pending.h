// SPDX-License-Identifier: MIT
//
// Work that was handed to the GPU and has not been seen to finish. An entry waits on a signal: one
// of ours, which only the GPU and the drain thread touch, or one of the program's, which the
// program may reuse or destroy the moment it fires. For the latter the entry is also found by the
// signal's handle, under that bucket's lock, so that a program's store or destroy takes the times
// first.
#pragma once

#include <hsa/hsa.h>

#include <atomic>
#include <cstdint>
#include <functional>

namespace rochound::agent {

enum class Work : uint8_t { kKernel, kCopy };

struct Pending {
  enum Phase : uint8_t { kFree, kWaiting, kTaken };

  std::atomic<uint8_t> phase{kFree};
  Work work = Work::kKernel;
  bool ours = false;     // the signal is from our pool, or there is none
  bool barrier = false;  // a kernel that began when all before it on its queue had ended
  bool given_up = false;
  uint16_t agent = 0;
  uint32_t queue = 0;
  uint64_t id = 0;         // dispatch or copy number
  uint64_t signal = 0;     // handle; 0: none, and its end is seen by that of later work
  int64_t done_at = 0;     // finished when the signal's value is at most this
  uint64_t end_ticks = 0;  // of a kernel that was taken; 0: not known
  Pending* next_same_bucket = nullptr;
};

// Enters an entry that waits on the program's signal (fields but done_at filled in, phase kFree).
void WaitOnProgramSignal(Pending* pending);

// The entry's work has finished: writes its times and ends the entry. False: not yet.
// Our signals: the signal is reset and may be lent again afterwards.
bool TakeIfFinished(Pending* pending);

// The program is about to give its signal another value, or to destroy it: takes what has finished,
// and gives up on the rest, whose end can no longer be told from that of later work. Cheap when
// nothing waits on it.
void BeforeSignalChanges(hsa_signal_t signal);

// The program gives its signal another value by `replace`, which returns the one that was there;
// with `expected`, only if that was there. Otherwise as BeforeSignalChanges, but nothing can finish
// between the look and the change.
int64_t ReplaceSignalValue(hsa_signal_t signal, const int64_t* expected,
                           const std::function<int64_t()>& replace);

// The program adds to its signal, by `add`: what waits on it waits for as much more.
void AddToSignal(hsa_signal_t signal, int64_t added, const std::function<void()>& add);

// Ends an entry whose time cannot be known any more; Cancel one whose work was refused.
void GiveUp(Pending* pending);
void Cancel(Pending* pending);

// In a forked child, whose signals are the parent's: nothing waits, and no signal is looked at.
void ForgetPendingAfterFork();

}  // namespace rochound::agent
