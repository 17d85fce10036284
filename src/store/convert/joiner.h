// SPDX-License-Identifier: MIT
//
// Puts together what belongs together in one process's log and gives it to the sinks. A dispatch
// and its times, a call and the work it caused may be far apart in the log, in either order; each
// is held only until its other half arrives. So the memory needed depends on how much was in flight
// at one time, not on how much there was. One thread; made by the conversion for each process.
//
//   KernelDispatch, Copy ... ApiCall                  same thread, same correlation
//   KernelDispatch ... KernelTime, Copy ... CopyTime  any threads, either order
//
// No failure of its own: what stays without its other half is given to the sinks all the same, and
// counted in what was lost.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "store/convert/allocation_pairs.h"
#include "store/convert/filter.h"
#include "store/convert/flat_map.h"
#include "store/convert/host_waits.h"
#include "store/convert/joined_events.h"
#include "store/convert/lost_events.h"
#include "store/convert/range_pairs.h"
#include "store/convert/swap_comparison.h"
#include "trace/reader.h"

namespace rochound::store {

class Joiner : public trace::Visitor {
 public:
  // All outlive the joiner. filter: null keeps everything. comparisons: of swapped launches, may be
  // null.
  Joiner(const ProcessContext& process, std::vector<EventSink*> sinks, const Filter* filter,
         const SwapComparisons* comparisons);
  ~Joiner() override;

  // Called after each chunk with the records of this process that are done. False: stop.
  void set_progress(std::function<bool(uint64_t)> progress) { progress_ = std::move(progress); }

  // Reads the whole log.
  base::Result<void> Run();

  void OnCall(const trace::CallEvent& event) override;
  void OnDispatch(const trace::Event<trace::KernelDispatch>& event) override;
  void OnKernelTime(const trace::Event<trace::KernelTime>& event) override;
  void OnCopy(const trace::Event<trace::Copy>& event) override;
  void OnCopyTime(const trace::Event<trace::CopyTime>& event) override;
  void OnAllocation(const trace::Event<trace::Allocation>& event) override;
  void OnRelease(const trace::Event<trace::Release>& event) override;
  void OnRange(const trace::Event<trace::Range>& event) override;
  void OnStateChange(const trace::Event<trace::StateChange>& event) override;
  void OnOverhead(const trace::Event<trace::Overhead>& event) override;
  void OnThreadEnd(const trace::Event<trace::ThreadEnd>& event) override;
  void OnSwap(const trace::Event<trace::Swap>& event) override;
  bool OnProgress(uint64_t done, uint64_t records) override;

 private:
  struct PendingCall;
  struct PendingOp;
  struct Thread;
  struct OpTime {
    uint64_t begin, end;
    uint16_t agent;
  };
  // What a queue is known to have finished.
  struct QueueProgress {
    uint64_t packet = 0;  // the last one
    uint64_t end = 0;     // ns
    bool stuck = false;   // with one that never finished
  };
  struct EarlyTimes {
    FlatMap index;
    std::vector<OpTime> times;
  };

  template <typename Give>
  void ForEachSink(Give give) {
    for (EventSink* const sink : sinks_) give(*sink);
  }
  void Lost(std::string what, uint64_t count, std::string note);

  Thread& ThreadOf(const trace::Thread& thread);
  PendingCall& PendingCallOf(Thread& thread, uint64_t correlation);
  void AbandonOldestCall(Thread& thread);
  const FunctionFacts& FunctionOf(uint16_t id);
  // The first time that the kernel is met: a library's code object has thousands of others.
  const KernelFacts* AddKernel(uint32_t id);
  const KernelFacts& KernelOf(uint32_t id);
  SwapComparison ComparisonOf(const trace::Swap& swap) const;

  void CompleteCall(const trace::CallEvent& event, bool returned);
  void ShareOutCopy(const PendingCall& call, const FunctionFacts& facts,
                    const CallArguments& arguments);
  void CompleteRange(const RangePairs::Range& range);

  PendingOp& NewOp(uint32_t* index);
  void AddOp(const trace::Thread& thread, uint32_t index, uint64_t correlation, uint64_t key);
  void OnTime(uint64_t key, const OpTime& time);
  bool TakeEarlyTime(EarlyTimes& early, uint64_t key, OpTime* time);
  void SetTime(PendingOp& op, const OpTime& time);
  uint64_t DoneBy(const PendingOp& op) const;
  QueueProgress& ProgressOf(const trace::KernelDispatch& dispatch);
  void EndUnfinishedOps();
  void CompleteOp(uint32_t index);
  void CompleteKernel(const PendingOp& op);
  void CompleteCopy(const PendingOp& op);
  void GiveUpOldOps(uint64_t before);

  void Finish();
  void Seen(uint64_t begin, uint64_t end);

  const ProcessContext& process_;
  const trace::ProcessLog& log_;
  const std::vector<EventSink*> sinks_;
  const Filter* const filter_;
  const SwapComparisons* const comparisons_;
  std::function<bool(uint64_t)> progress_;
  bool stopped_ = false;

  std::vector<std::unique_ptr<Thread>> threads_;           // by index; null: not seen
  std::vector<std::unique_ptr<FunctionFacts>> functions_;  // by id; null: not seen
  size_t functions_seen_ = 0;
  std::unordered_map<uint32_t, std::unique_ptr<KernelFacts>> kernels_;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>>
      swaps_;                    // those that were given to the sinks
  uint32_t last_kernel_id_ = 0;  // the one asked for last, since launches repeat
  const KernelFacts* last_kernel_ = nullptr;
  RangePairs ranges_;
  AllocationPairs allocations_;
  HostWaits waits_;
  std::vector<QueueProgress> queues_;  // by index

  std::vector<PendingOp> ops_;  // a pool
  std::vector<uint32_t> free_ops_;
  FlatMap untimed_;             // key of a dispatch or copy -> in ops_
  EarlyTimes early_, earlier_;  // times whose dispatch or copy was not seen yet
  uint64_t next_number_ = 0, next_dispatch_ = 0;
  ProcessEnd end_;
  JoinerCounts counts_;
};

}  // namespace rochound::store
