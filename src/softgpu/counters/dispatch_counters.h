// SPDX-License-Identifier: MIT
//
// Counting of dispatches: whether, and where to. Switched on for the process by
// ROCHOUND_SOFTGPU_COUNTERS=FILE (a line of JSON per dispatch is appended when it ends, in one
// write, before its completion is signalled; with ROCHOUND_SOFTGPU_COUNTERS_CODE=1 the first of
// each kernel and shape has every instruction of its code, and with ROCHOUND_SOFTGPU_CACHES=SHAPES
// caches are modelled) or by a program through the C interface (records are kept until they are
// read). A queue's thread asks Begin at the start of a dispatch, once; every thread that runs its
// waves takes part with Sums of its own. A file that cannot be written is reported once and given
// up; the program goes on.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/mutex.h"
#include "softgpu/counters/cache_model.h"
#include "softgpu/counters/dispatch_record.h"

namespace rochound::softgpu {

class DispatchCounters {
 public:
  // caches: their model's shape; nullptr: there is none.
  explicit DispatchCounters(DispatchIdentity identity, bool by_address = false,
                            const CacheShapes* caches = nullptr);

  const TargetRules& rules() const { return rules_; }
  // Whether threads count each instruction of the code by itself, too.
  bool by_address() const { return by_address_; }
  // nullptr: caches are not modelled. Otherwise one thread has to run all waves, so that the model
  // sees them in the same order each time.
  CacheModel* caches() const { return caches_.get(); }
  // What a thread has counted.
  void Add(const Sums& sums);
  DispatchRecord Finish(bool completed);

 private:
  const TargetRules& rules_;
  DispatchIdentity identity_;
  const bool by_address_;
  std::unique_ptr<CacheModel> caches_;
  base::Mutex mutex_;
  Sums sums_ ROCHOUND_GUARDED_BY(mutex_);
};

class CounterRecorder {
 public:
  // Lives for ever.
  static CounterRecorder& Instance();

  // True if the next dispatch is to be counted: one load of an atomic.
  bool IsOn() const { return users_.load(std::memory_order_relaxed) != 0; }
  // Fills process and order.
  std::unique_ptr<DispatchCounters> Begin(DispatchIdentity identity);
  void End(DispatchCounters& counters, bool completed);

  // The C interface. Starts are counted.
  void Start();
  void Stop();
  // The oldest record, which stays until Pop; nullopt if there is none.
  std::optional<DispatchRecord> Front();
  void Pop();
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

  // In the child after fork: the parent's threads, locks and unread records are not ours.
  void AbandonAfterFork();

  CounterRecorder(const CounterRecorder&) = delete;
  CounterRecorder& operator=(const CounterRecorder&) = delete;

 private:
  CounterRecorder();
  void Append(const DispatchRecord& record);
  // Of a kernel's launches with one shape the first is.
  bool IsCountedByAddress(const DispatchIdentity& identity);

  static constexpr size_t kMostKept = 65536;

  std::atomic<unsigned> users_{0};    // the file, and each start
  std::atomic<unsigned> readers_{0};  // each start
  std::atomic<uint64_t> order_{0};
  std::atomic<uint64_t> lost_{0};
  std::atomic<int> file_{-1};
  bool by_address_ = false;
  std::optional<CacheShapes> caches_;
  base::Mutex mutex_;
  std::deque<DispatchRecord> kept_ ROCHOUND_GUARDED_BY(mutex_);
  std::set<std::string> by_address_seen_ ROCHOUND_GUARDED_BY(mutex_);
};

}  // namespace rochound::softgpu
