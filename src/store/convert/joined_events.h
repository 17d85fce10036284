// SPDX-License-Identifier: MIT
//
// What a process did, put together from its log by the joiner: a call with what it launched, a
// kernel or a copy with its times and its call. Each is given to every sink once it is complete. A
// sink writes tables, lines or sums; it keeps nothing of an event but what it copies. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/convert/allocation_pairs.h"
#include "store/convert/functions.h"
#include "store/convert/names.h"
#include "store/convert/range_pairs.h"
#include "trace/reader.h"

namespace rochound::store {

inline int64_t Signed(uint64_t number) { return static_cast<int64_t>(number); }

// The process that is read. Outlives joiner and sinks.
struct ProcessContext {
  const trace::ProcessLog& log;
  std::vector<int64_t> gpu_ids;  // by agent index: the number of the GPU in the whole run, or -1
  // The number in the whole run of the process's copies, which no queue of its own counts; its
  // queues follow.
  int64_t first_queue;

  int64_t GpuId(uint32_t agent) const { return agent < gpu_ids.size() ? gpu_ids[agent] : -1; }
  uint16_t AgentOfQueue(uint32_t queue) const {
    const auto found = log.queues().find(queue);
    return found != log.queues().end() ? found->second.head.small : trace::kNoAgent;
  }
  std::string_view String(uint32_t id) const { return log.String(id).value_or(std::string_view()); }
};

struct FunctionFacts {
  size_t number = 0;  // counts the functions that were seen
  Function function;
  CopyCall copy;
  bool sets_device = false;
  bool gives_status = false;  // zero: success
  bool hides_status = false;  // HIP reported the call without its result
  HostWaitKind wait = HostWaitKind::kNone;
  int stream = -1;   // argument
  int event = -1;    // argument
  bool kept = true;  // part of the trace
};

struct KernelFacts {
  size_t number = 0;  // counts the kernels that were seen
  std::string name, mangled_name;
  std::string_view operation;
  trace::KernelSymbol symbol{};
  bool of_program = true;
  bool copies = false;
  bool kept = true;  // part of the trace
};

struct JoinedCall {
  const trace::CallEvent& event;
  const FunctionFacts& facts;
  bool returned;
  int64_t device;                       // HIP's current one, as far as was seen
  int64_t gpu = -1;                     // of the first kernel that the call launched
  const KernelFacts* kernel = nullptr;  // of the program: the first one that it launched
  const trace::KernelDispatch* launch = nullptr;
  const trace::Copy* copy = nullptr;  // the first one that it caused
  int64_t row = 0;                    // set by the sink that writes tables

  CallArguments arguments() const { return {event.words, event.texts}; }
};

// The times of a kernel or a copy, in ns.
struct OpTimes {
  uint64_t submit = 0, begin = 0, end = 0;
  bool timed = false;       // begin and end are the GPU's
  bool unfinished = false;  // in flight when the process ended, where it ends here
  bool waited_for = false;  // its end is that of the call which had waited for it
  uint16_t agent = trace::kNoAgent;
  int64_t call_row = 0;  // JoinedCall::row; 0: not known
};

struct JoinedKernel {
  const trace::KernelDispatch& dispatch;
  const KernelFacts& facts;
  const OpTimes& times;
  uint64_t number;           // counts dispatches
  const trace::Copy* moved;  // what a runtime's kernel copies; null: it is no such kernel
};

struct JoinedCopy {
  const trace::Copy& copy;
  const OpTimes& times;
};

struct JoinedSwap {
  const KernelFacts* kernel;
  const KernelFacts* candidate;  // null: not loaded
  uint64_t begin_ns;
  trace::SwapDecision decision;
  std::string result, reason;  // in words
  std::string_view file;
};

struct LostEvents {
  std::string what;
  uint64_t count;
  std::string note;
};

struct ProcessEnd {
  uint64_t first_seen_ns = UINT64_MAX, last_seen_ns = 0;  // UINT64_MAX: nothing was seen
};

class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  // Before the first event that names it.
  virtual void OnFunctionFacts(const FunctionFacts&) {}
  virtual void OnKernelFacts(const KernelFacts&) {}

  // Of what the filter keeps.
  virtual void OnCall(JoinedCall&) {}
  virtual void OnKernel(const JoinedKernel&) {}
  virtual void OnCopy(const JoinedCopy&) {}
  virtual void OnRange(const RangePairs::Range&) {}
  // end_ns 0: it was never given back.
  virtual void OnAllocation(const AllocationPairs::Allocation&, uint64_t /*end_ns*/) {}
  virtual void OnOverhead(const trace::Event<trace::Overhead>&) {}
  virtual void OnSwap(const JoinedSwap&) {}
  virtual void OnUnrecorded(const trace::Unrecorded&) {}
  virtual void OnLost(const LostEvents&) {}
  // The last one.
  virtual void OnEnd(const ProcessEnd&) {}
};

// Bytes that a copy call names, or 0, and its kind as HIP counts them.
int64_t SizeOfCopy(const FunctionFacts& facts, const CallArguments& arguments);
int64_t KindOfCopy(const FunctionFacts& facts, const CallArguments& arguments);

// CopyHostToDevice, FillBuffer, ... as RPD calls it.
std::string_view DirectionOf(const trace::Copy& copy, const ProcessContext& process);

// Agents of a copy of which nothing was told.
inline constexpr uint32_t kUnknownAgents = uint32_t{trace::kNoAgent} << 16 | trace::kNoAgent;

}  // namespace rochound::store
