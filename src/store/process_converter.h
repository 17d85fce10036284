// SPDX-License-Identifier: MIT
//
// Turns the events of one process's log into rows, lines and sums. What belongs together (a
// dispatch and its times, a call and the work it caused) may stand far apart in the log, in either
// order, and is held only until its other half arrives. So the memory needed depends on how much
// was under way at one time, not on how much there was. One thread; made by the conversion for each
// process.
//
//   KernelDispatch, Copy ... ApiCall                  same thread, same correlation
//   KernelDispatch ... KernelTime, Copy ... CopyTime  any threads, either order
//
// No failure of its own: what stays without its other half is written all the same, and told in
// rochound_lost and in the summary.
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

#include "store/allocation_pairs.h"
#include "store/filter.h"
#include "store/flat_map.h"
#include "store/functions.h"
#include "store/names.h"
#include "store/range_pairs.h"
#include "store/rpd.h"
#include "store/summary.h"
#include "store/swap_comparison.h"
#include "store/symbolizer.h"
#include "store/text_output.h"
#include "trace/reader.h"

namespace rochound::store {

// Where the results go; null: not wanted.
struct Outputs {
  RpdWriter* rpd = nullptr;
  TextOutput* jsonl = nullptr;
  TextOutput* durations = nullptr;
  const Filter* filter = nullptr;  // null: everything
  const SwapComparisons* swap_comparisons = nullptr;
};

class ProcessConverter : public trace::Visitor {
 public:
  // gpu_ids: by agent index, the number of the GPU in the whole run, or -1. first_queue: the number
  // in the whole run of the process's copies, which no queue of its own counts; those follow. All
  // outlive the converter.
  ProcessConverter(const trace::ProcessLog& log, std::vector<int64_t> gpu_ids, int64_t first_queue,
                   const Outputs& outputs, Summary* summary);
  ~ProcessConverter() override;

  // Called after each chunk with the records of this process that are done. False: stop.
  void set_progress(std::function<bool(uint64_t)> progress) { progress_ = std::move(progress); }

  // Reads the whole log.
  base::Result<void> Run();

  // What a log in parts needs: events, then everything that is still waiting.
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
  struct FunctionFacts;
  struct KernelFacts;
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

  Thread& ThreadOf(const trace::Thread& thread);
  PendingCall& PendingCallOf(Thread& thread, uint64_t correlation);
  void AbandonOldestCall(Thread& thread);
  const FunctionFacts& FunctionOf(uint16_t id);
  void AddKernel(uint32_t id, const trace::KernelSymbol& record, std::string_view name);
  const KernelFacts& KernelOf(uint32_t id);
  std::string_view StringOf(uint32_t id) const;
  SwapComparison ComparisonOf(const trace::Swap& swap) const;

  void WriteCall(const trace::CallEvent& event, bool returned);
  void WriteKernelApi(int64_t api, std::string_view stream, const trace::KernelDispatch& launch);
  void ShareOutCopy(const PendingCall& call, const CopyCall& copy, const Function& function,
                    const CallArguments& arguments);
  void WriteCopyApi(int64_t api, const Thread& thread, const CopyCall& copy,
                    const Function& function, const CallArguments& arguments,
                    const trace::Copy* first);
  void WriteFacts();
  void WriteFrames(int64_t api, std::span<const uint64_t> frames);
  void WriteAllocation(const AllocationPairs::Allocation& allocation, uint64_t end);
  void WriteRange(const RangePairs::Range& range);

  PendingOp& NewOp(uint32_t* index);
  void AddOp(const trace::Thread& thread, uint32_t index, uint64_t correlation, uint64_t key);
  void OnTime(uint64_t key, const OpTime& time);
  bool TakeEarlyTime(EarlyTimes& early, uint64_t key, OpTime* time);
  void SetTime(PendingOp& op, const OpTime& time);
  QueueProgress& ProgressOf(const trace::KernelDispatch& dispatch);
  void EndUnfinishedOps();
  void Settle(uint32_t index);
  void WriteKernelOp(const PendingOp& op);
  void WriteCopyOp(const PendingOp& op);
  uint16_t AgentOfQueue(uint32_t queue) const;
  std::string_view DirectionOf(const trace::Copy& copy) const;
  void WriteCopyRow(int64_t id, const PendingOp& op, const trace::Copy& copy);
  void GiveUpOldOps(uint64_t before);

  void Finish();
  void Lost(std::string what, uint64_t count, std::string note);
  int64_t String(std::string_view text) {
    return outputs_.rpd != nullptr ? outputs_.rpd->String(text) : 0;
  }
  int64_t GpuId(uint32_t agent) const { return agent < gpu_ids_.size() ? gpu_ids_[agent] : -1; }
  void Seen(uint64_t begin, uint64_t end);

  const trace::ProcessLog& log_;
  const std::vector<int64_t> gpu_ids_;
  const int64_t first_queue_;
  const Outputs outputs_;
  Summary* const summary_;
  std::function<bool(uint64_t)> progress_;
  bool stopped_ = false;

  std::vector<std::unique_ptr<Thread>> threads_;           // by index; null: not seen
  std::vector<std::unique_ptr<FunctionFacts>> functions_;  // by id; null: not seen
  std::unordered_map<uint32_t, std::unique_ptr<KernelFacts>> kernels_;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>>
      swaps_;                    // those that were written
  uint32_t last_kernel_id_ = 0;  // the one asked for last, since launches repeat
  const KernelFacts* last_kernel_ = nullptr;
  RangePairs ranges_;
  AllocationPairs allocations_;
  std::vector<QueueProgress> queues_;  // by index

  std::vector<PendingOp> ops_;  // a pool
  std::vector<uint32_t> free_ops_;
  FlatMap untimed_;             // key of a dispatch or copy -> in ops_
  EarlyTimes early_, earlier_;  // times whose dispatch or copy was not seen yet
  uint64_t next_number_ = 0, next_dispatch_ = 0;

  std::unique_ptr<Symbolizer> symbolizer_;
  std::unordered_map<uint64_t, int64_t> frame_names_;  // address -> string

  std::string text_, stream_;
  uint64_t first_seen_ = UINT64_MAX, last_seen_ = 0;
  uint64_t calls_ = 0, dispatches_ = 0, copies_ = 0;
  uint64_t untimed_dispatches_ = 0, untimed_copies_ = 0, lost_calls_ = 0;
  uint64_t filtered_kernels_ = 0, filtered_calls_ = 0;
  uint64_t unfinished_kernels_ = 0, unfinished_copies_ = 0, unfinished_ranges_ = 0;
  uint64_t calls_without_function_ = 0, doubtful_times_ = 0;
};

}  // namespace rochound::store
