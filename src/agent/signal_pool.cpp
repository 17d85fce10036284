// SPDX-License-Identifier: MIT
#include "agent/signal_pool.h"

#include <hsa/amd_hsa_signal.h>

#include <algorithm>
#include <new>
#include <vector>

#include "agent/runtime.h"
#include "agent/session.h"
#include "base/check.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

// Making a signal takes the runtime about a microsecond, so the drain thread makes them ahead; a
// thread that finds none makes a few.
constexpr uint32_t kGrowBy = 16;
constexpr uint32_t kLow = 256;
constexpr uint32_t kAhead = 1024;

struct Pool {
  base::Mutex lock;
  std::vector<uint64_t> free ROCHOUND_GUARDED_BY(lock);
  std::vector<uint64_t> retired ROCHOUND_GUARDED_BY(lock);
  bool called_for_more ROCHOUND_GUARDED_BY(lock) = false;
};

Pool& ThePool() {
  static Pool* const pool = new Pool;  // outlives static destructors
  return *pool;
}

void Grow(Pool& pool, uint32_t count) ROCHOUND_REQUIRES(pool.lock) {
  pool.free.reserve(pool.free.size() + count);
  for (uint32_t made = 0; made < count; ++made) {
    hsa_signal_t signal{};
    if (Real().amd.hsa_amd_signal_create_fn(1, 0, nullptr, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &signal) !=
        HSA_STATUS_SUCCESS)
      return;
    pool.free.push_back(signal.handle);
  }
}

}  // namespace

uint64_t BorrowSignal(SignalBatch* batch) {
  ROCHOUND_DCHECK(batch->count <= SignalBatch::kMost);
  if (batch->count != 0) return batch->signals[--batch->count];
  bool call = false;
  Guarded("no memory for signals", [&] {
    Pool& pool = ThePool();
    const base::Lock lock(pool.lock);
    if (pool.free.empty()) Grow(pool, kGrowBy);
    batch->count = std::min(static_cast<uint32_t>(pool.free.size()), SignalBatch::kMost);
    std::copy(pool.free.end() - batch->count, pool.free.end(), batch->signals);
    pool.free.resize(pool.free.size() - batch->count);
    call = pool.free.size() < kLow && !pool.called_for_more;
    if (call) pool.called_for_more = true;
  });
  if (call) WakeDrainThread();
  return batch->count != 0 ? batch->signals[--batch->count] : 0;
}

void ReturnSignal(SignalBatch* batch, uint64_t signal) {
  ROCHOUND_DCHECK(signal != 0 && batch->count <= SignalBatch::kMost);
  auto* memory = reinterpret_cast<amd_signal_t*>(signal);
  memory->start_ts = 0;
  memory->end_ts = 0;
  __atomic_store_n(&memory->value, 1, __ATOMIC_RELEASE);
  if (batch->count == SignalBatch::kMost) ReturnBatch(batch);
  batch->signals[batch->count++] = signal;
}

void ReturnBatch(SignalBatch* batch) {
  ROCHOUND_DCHECK(batch->count <= SignalBatch::kMost);
  Guarded("no memory for signals", [&] {
    Pool& pool = ThePool();
    const base::Lock lock(pool.lock);
    pool.free.insert(pool.free.end(), batch->signals, batch->signals + batch->count);
  });
  batch->count = 0;
}

void RetireSignal(uint64_t signal) {
  ROCHOUND_DCHECK(signal != 0);
  Guarded("no memory for signals", [&] {
    Pool& pool = ThePool();
    const base::Lock lock(pool.lock);
    pool.retired.push_back(signal);
  });
}

void PrepareSignals() {
  // In small pieces: a thread in the doorbell hook may be waiting for the lock.
  for (uint32_t made = 0; made < kAhead; made += kGrowBy) {
    Pool& pool = ThePool();
    const base::Lock lock(pool.lock);
    if (pool.free.size() >= kAhead) break;
    Grow(pool, kGrowBy);
  }
}

void AnswerCallForSignals() {
  {
    Pool& pool = ThePool();
    const base::Lock lock(pool.lock);
    if (!pool.called_for_more) return;
    pool.called_for_more = false;
  }
  PrepareSignals();
}

void DestroySignals() {
  Pool& pool = ThePool();
  const base::Lock lock(pool.lock);
  for (std::vector<uint64_t>* signals : {&pool.free, &pool.retired}) {
    for (const uint64_t signal : *signals) Real().core.hsa_signal_destroy_fn(hsa_signal_t{signal});
    signals->clear();
  }
}

void ForgetSignalsAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  Pool& pool = ThePool();
  new (&pool.lock) base::Mutex;
  // Not cleared: another thread of the parent may have been changing them.
  new (&pool.free) std::vector<uint64_t>;
  new (&pool.retired) std::vector<uint64_t>;
  pool.called_for_more = false;
}

}  // namespace rochound::agent
