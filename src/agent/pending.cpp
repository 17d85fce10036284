// SPDX-License-Identifier: MIT
#include "agent/pending.h"

#include <hsa/amd_hsa_signal.h>

#include <new>

#include "agent/runtime.h"
#include "agent/spin_lock.h"
#include "agent/thread_state.h"
#include "base/check.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

struct Bucket {
  std::atomic<uint32_t> waiting{0};
  SpinLock lock;
  Pending* first ROCHOUND_GUARDED_BY(lock) = nullptr;
};

constexpr size_t kBuckets = 1024;
constinit Bucket buckets[kBuckets];

Bucket& BucketOf(uint64_t signal) {
  return buckets[(signal * 0x9e3779b97f4a7c15ull >> 32) % kBuckets];
}

// Held for a few loads, one record, and at most an atomic operation of the runtime's; never around a
// call into the runtime's locks.
class ROCHOUND_SCOPED_CAPABILITY Locked {
 public:
  explicit Locked(Bucket& bucket) ROCHOUND_ACQUIRE(bucket.lock) : lock_(bucket.lock) {
    lock_.lock();
  }
  ~Locked() ROCHOUND_RELEASE() { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const Busy busy_;  // before the lock is taken
  SpinLock& lock_;
};

amd_signal_t* Memory(uint64_t signal) { return reinterpret_cast<amd_signal_t*>(signal); }

int64_t Value(uint64_t signal) { return __atomic_load_n(&Memory(signal)->value, __ATOMIC_ACQUIRE); }

template <typename Record>
void Write(uint64_t Record::* id_member, const Pending& pending, uint16_t clock, uint64_t begin,
           uint64_t end) {
  ThreadState* thread = CurrentThread();
  if (thread == nullptr) return;
  auto* record = thread->log->Reserve<Record>();
  if (record == nullptr) return;
  record->*id_member = pending.id;
  record->begin_ticks = begin;
  record->end_ticks = end;
  thread->log->Commit(record, clock, pending.queue);
}

void WriteTimes(Pending& pending, bool known) {
  pending.end_ticks = 0;
  if (pending.work == Work::kKernel && !known) {
    Write(&trace::KernelTime::dispatch, pending, pending.agent, 0, 0);
    return;
  }
  if (pending.work == Work::kKernel) {
    ROCHOUND_DCHECK(pending.signal != 0);
    const amd_signal_t* signal = Memory(pending.signal);
    // On a signal that counts further dispatches the next one may be writing its times by now.
    const uint64_t begin = __atomic_load_n(&signal->start_ts, __ATOMIC_RELAXED);
    const uint64_t end = __atomic_load_n(&signal->end_ts, __ATOMIC_RELAXED);
    const bool whole = begin <= end;
    if (whole) pending.end_ticks = end;
    Write(&trace::KernelTime::dispatch, pending, pending.agent, whole ? begin : 0, whole ? end : 0);
    return;
  }
  hsa_amd_profiling_async_copy_time_t time{};
  // Not a hook's own table entry: the runtime's function, which takes no lock of the program's.
  if (known && Real().amd.hsa_amd_profiling_get_async_copy_time_fn(hsa_signal_t{pending.signal},
                                                                   &time) != HSA_STATUS_SUCCESS)
    time = {};
  Write(&trace::CopyTime::copy, pending, trace::kSystemClock, time.start, time.end);
}

void Unlink(Bucket& bucket, const Pending* pending) ROCHOUND_REQUIRES(bucket.lock) {
  ROCHOUND_DCHECK(bucket.first != nullptr && bucket.waiting.load(std::memory_order_relaxed) != 0);
  for (Pending** link = &bucket.first; *link != nullptr; link = &(*link)->next_same_bucket) {
    if (*link != pending) continue;
    *link = pending->next_same_bucket;
    bucket.waiting.fetch_sub(1, std::memory_order_release);
    return;
  }
}

void End(Bucket& bucket, Pending* pending, bool times_known) ROCHOUND_REQUIRES(bucket.lock) {
  ROCHOUND_DCHECK(!pending->ours && pending->signal != 0);
  ROCHOUND_DCHECK(pending->phase.load(std::memory_order_relaxed) == Pending::kWaiting);
  WriteTimes(*pending, times_known);
  Unlink(bucket, pending);
  pending->phase.store(Pending::kTaken, std::memory_order_release);
}

// Takes everything that has finished on a program's signal, which has that value, or had it until
// now. The signal counts down once per piece of work; with several pieces on one signal only the
// last to finish has left its times there.
void TakeFinishedOn(Bucket& bucket, uint64_t signal, int64_t value) ROCHOUND_REQUIRES(bucket.lock) {
  const auto finished = [&](const Pending* one) {
    return one->signal == signal && value <= one->done_at;
  };
  const Pending* last = nullptr;
  bool more_to_come = false;
  for (const Pending* one = bucket.first; one != nullptr; one = one->next_same_bucket) {
    if (finished(one) && (last == nullptr || one->done_at < last->done_at)) last = one;
    more_to_come = more_to_come || (one->signal == signal && !finished(one));
  }
  // The runtime clears a signal's copy times before the next copy, which may be about to begin.
  if (last != nullptr && last->work == Work::kCopy && more_to_come) last = nullptr;
  Pending* next = nullptr;
  for (Pending* one = bucket.first; one != nullptr; one = next) {
    next = one->next_same_bucket;
    if (finished(one)) End(bucket, one, one == last);
  }
}

// What waits on the signal ends without a record, unless the interrupted code holds the lock: then
// nobody looks at it any more.
void ForgetInterrupted(Bucket& bucket, uint64_t signal) {
  if (!bucket.lock.lock_soon()) return;
  Pending* next = nullptr;
  for (Pending* one = bucket.first; one != nullptr; one = next) {
    next = one->next_same_bucket;
    if (one->signal != signal) continue;
    one->given_up = true;
    one->end_ticks = 0;
    Unlink(bucket, one);
    one->phase.store(Pending::kTaken, std::memory_order_release);
  }
  bucket.lock.unlock();
}

// The same, and gives up on the rest.
void TakeAllOn(Bucket& bucket, uint64_t signal, int64_t value) ROCHOUND_REQUIRES(bucket.lock) {
  TakeFinishedOn(bucket, signal, value);
  Pending* next = nullptr;
  for (Pending* pending = bucket.first; pending != nullptr; pending = next) {
    next = pending->next_same_bucket;
    if (pending->signal != signal) continue;
    pending->given_up = true;
    End(bucket, pending, false);
  }
}

}  // namespace

void WaitOnProgramSignal(Pending* pending) {
  ROCHOUND_DCHECK(!pending->ours && pending->signal != 0);
  ROCHOUND_DCHECK(pending->phase.load(std::memory_order_relaxed) == Pending::kFree);
  Bucket& bucket = BucketOf(pending->signal);
  Locked locked(bucket);
  // After those already waiting on the same signal, each of which takes one off its value.
  int64_t done_at = Value(pending->signal) - 1;
  for (const Pending* other = bucket.first; other != nullptr; other = other->next_same_bucket)
    if (other->signal == pending->signal && other->done_at <= done_at) done_at = other->done_at - 1;
  pending->done_at = done_at;
  pending->next_same_bucket = bucket.first;
  bucket.first = pending;
  bucket.waiting.fetch_add(1, std::memory_order_relaxed);
  pending->phase.store(Pending::kWaiting, std::memory_order_release);
}

bool TakeIfFinished(Pending* pending) {
  if (pending->phase.load(std::memory_order_acquire) != Pending::kWaiting) return true;
  if (pending->ours) {
    if (pending->signal == 0 || Value(pending->signal) > pending->done_at) return false;
    WriteTimes(*pending, true);
    pending->phase.store(Pending::kTaken, std::memory_order_release);
    return true;
  }
  Bucket& bucket = BucketOf(pending->signal);
  Locked locked(bucket);
  // The program may have destroyed the signal since; then its times were taken before.
  if (pending->phase.load(std::memory_order_acquire) != Pending::kWaiting) return true;
  TakeFinishedOn(bucket, pending->signal, Value(pending->signal));
  return pending->phase.load(std::memory_order_relaxed) != Pending::kWaiting;
}

void AddToSignal(hsa_signal_t signal, int64_t added, const std::function<void()>& add) {
  Bucket& bucket = BucketOf(signal.handle);
  const bool interrupted = IsBusy();
  const Busy busy;
  // Around the call: whoever comes before or after finds value and entries in agreement.
  if (!bucket.lock.lock_in_hook(interrupted)) return add();
  const base::Lock lock(bucket.lock, std::adopt_lock);
  if (!interrupted) TakeFinishedOn(bucket, signal.handle, Value(signal.handle));
  add();
  for (Pending* one = bucket.first; one != nullptr; one = one->next_same_bucket)
    if (one->signal == signal.handle) one->done_at += added;
}

void BeforeSignalChanges(hsa_signal_t signal) {
  Bucket& bucket = BucketOf(signal.handle);
  // Acquires what the last taker did: it has read the signal, which may go away now.
  if (bucket.waiting.load(std::memory_order_acquire) == 0) return;
  if (IsBusy()) return ForgetInterrupted(bucket, signal.handle);
  Locked locked(bucket);
  TakeAllOn(bucket, signal.handle, Value(signal.handle));
}

int64_t ReplaceSignalValue(hsa_signal_t signal, const int64_t* expected,
                           const std::function<int64_t()>& replace) {
  Bucket& bucket = BucketOf(signal.handle);
  if (bucket.waiting.load(std::memory_order_acquire) == 0) return replace();
  if (IsBusy()) {
    ForgetInterrupted(bucket, signal.handle);
    return replace();
  }
  Locked locked(bucket);
  const int64_t before = replace();
  // The times are there until the next kernel ends, which is not submitted before we return.
  if (expected == nullptr || before == *expected) TakeAllOn(bucket, signal.handle, before);
  return before;
}

void GiveUp(Pending* pending) {
  if (pending->ours) {
    if (pending->phase.load(std::memory_order_acquire) != Pending::kWaiting) return;
    pending->given_up = true;
    WriteTimes(*pending, false);
    pending->phase.store(Pending::kTaken, std::memory_order_release);
    return;
  }
  Bucket& bucket = BucketOf(pending->signal);
  Locked locked(bucket);
  if (pending->phase.load(std::memory_order_acquire) != Pending::kWaiting) return;
  pending->given_up = true;
  End(bucket, pending, false);
}

void ForgetPendingAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  for (Bucket& bucket : buckets) {
    bucket.waiting.store(0);
    new (&bucket.lock) SpinLock;
    bucket.first = nullptr;
  }
}

void Cancel(Pending* pending) {
  ROCHOUND_DCHECK(!pending->ours);
  Bucket& bucket = BucketOf(pending->signal);
  Locked locked(bucket);
  if (pending->phase.load(std::memory_order_acquire) != Pending::kWaiting) return;
  Unlink(bucket, pending);
  pending->phase.store(Pending::kTaken, std::memory_order_release);
}

}  // namespace rochound::agent
