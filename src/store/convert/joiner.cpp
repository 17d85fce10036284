// SPDX-License-Identifier: MIT
#include "store/convert/joiner.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "codeobj/demangle.h"
#include "store/convert/names.h"
#include "store/rpd/lost_kinds.h"

namespace rochound::store {
namespace {

constexpr uint64_t kCopyKey = 1ull << 63;  // told from dispatches, whose queue index is small
constexpr size_t kMostOpenCalls = 32;      // deeper than calls nest: the oldest was lost
constexpr size_t kMostUntimed = 1 << 20;   // far more than queues can hold
constexpr size_t kMostEarlyTimes = 1 << 19;
constexpr uint64_t kClockTolerance = 1'000'000'000;  // ns
constexpr uint32_t kMostThreads = 1 << 24;           // what a correlation has room for

uint64_t KeyOf(const trace::KernelDispatch& dispatch) { return dispatch.dispatch & ~kCopyKey; }
uint64_t KeyOf(const trace::Copy& copy) { return copy.copy | kCopyKey; }

// The packet waits for all before it in its queue.
bool WaitsForQueue(const trace::KernelDispatch& dispatch) {
  return (dispatch.head.small >> 8 & 1) != 0;
}

}  // namespace

// What a call caused, until it returns.
struct Joiner::PendingCall {
  uint64_t correlation = 0;
  std::vector<uint32_t> waiting;  // in ops_
  int64_t gpu = -1;
  bool has_launch = false;  // of a kernel of the program: the first one
  bool has_copy = false;
  trace::KernelDispatch launch{};
  trace::Copy copy{};
};

// A dispatch or a copy, until its call has returned and its times are known.
struct Joiner::PendingOp {
  union {
    trace::KernelDispatch dispatch;
    trace::Copy copy;
  };
  bool is_copy = false;
  bool copies = false;    // a dispatch of a runtime's kernel that copies: `moved` is what
  bool used = false;      // false: in the free list
  bool has_call = false;  // times.call_row is final
  bool has_time = false;  // the rest of times is final
  bool has_stream = false;
  OpTimes times;
  uint64_t stream = 0;
  uint64_t done_by = 0;          // its own call had waited for it when it returned; 0: not known
  uint64_t number = 0;           // counts dispatches and copies as they were seen
  uint64_t dispatch_number = 0;  // counts dispatches
  trace::Copy moved{};           // bytes 0: not known yet

  PendingOp() : dispatch{} {}
  uint64_t Key() const { return is_copy ? KeyOf(copy) : KeyOf(dispatch); }
};

struct Joiner::Thread {
  int64_t device = 0;              // HIP's current one, as far as was seen
  std::vector<PendingCall> calls;  // oldest first
  size_t calls_used = 0;           // of those; the rest is kept for its memory
  trace::Copy by_kernel{};         // what the dispatch that follows copies, if it is that one

  // The calls completed last, for work that is recorded after its call.
  struct Completed {
    uint64_t correlation = 0;
    int64_t row = 0;
  };
  std::array<Completed, 256> completed{};

  Completed& Slot(uint64_t correlation) { return completed[correlation % completed.size()]; }
};

Joiner::Joiner(const ProcessContext& process, std::vector<EventSink*> sinks, const Filter* filter,
               const SwapComparisons* comparisons)
    : process_(process),
      log_(process.log),
      sinks_(std::move(sinks)),
      filter_(filter),
      comparisons_(comparisons),
      ranges_(log_.unrecorded(), [this](const RangePairs::Range& range) { CompleteRange(range); }),
      waits_(process) {}

Joiner::~Joiner() = default;

base::Result<void> Joiner::Run() {
  ROCHOUND_CHECK(log_.Visit(*this));
  if (stopped_) return base::Error{"stopped"};
  for (const trace::OpenCall& open : log_.open_calls()) {
    CompleteCall({.thread = {open.thread, open.tid},
                  .function = open.function,
                  .result = 0,
                  .begin_ns = open.begin_ns,
                  .end_ns = std::max(open.begin_ns, log_.end_ns()),
                  .correlation = open.correlation,
                  .words = {},
                  .texts = {},
                  .frames = {}},
                 false);
    Lost(std::string(lost_kinds::kCallInFlight), 1,
         FunctionOf(open.function).function.name + " had not returned");
  }
  Finish();
  return {};
}

void Joiner::Seen(uint64_t begin, uint64_t end) {
  end_.first_seen_ns = std::min(end_.first_seen_ns, begin);
  end_.last_seen_ns = std::max(end_.last_seen_ns, end);
}

Joiner::Thread& Joiner::ThreadOf(const trace::Thread& thread) {
  const uint32_t index = thread.index % kMostThreads;
  if (index >= threads_.size()) threads_.resize(index + size_t{1});
  if (threads_[index] == nullptr) threads_[index] = std::make_unique<Thread>();
  return *threads_[index];
}

// --- names

const KernelFacts* Joiner::AddKernel(uint32_t id) {
  const auto known = log_.kernels().find(id);
  const bool is_known = known != log_.kernels().end();
  const std::string name = is_known ? std::string(process_.String(known->second.name))
                                    : "unknown kernel " + std::to_string(id);
  auto kernel = std::make_unique<KernelFacts>();
  kernel->number = kernels_.size();
  kernel->name = codeobj::Demangle(name);
  kernel->mangled_name = name;
  kernel->operation = OperationOfKernel(name);
  if (is_known) kernel->symbol = known->second;
  kernel->of_program = kernel->operation == kKernelExecution;
  kernel->copies = kernel->operation == kCopyKernel;
  kernel->kept = !kernel->of_program || filter_ == nullptr || filter_->KeepsKernel(kernel->name);
  ForEachSink([&](EventSink& sink) { sink.OnKernelFacts(*kernel); });
  return kernels_.emplace(id, std::move(kernel)).first->second.get();
}

const KernelFacts& Joiner::KernelOf(uint32_t id) {
  if (last_kernel_ != nullptr && id == last_kernel_id_) return *last_kernel_;
  const auto found = kernels_.find(id);
  last_kernel_id_ = id;
  last_kernel_ = found != kernels_.end() ? found->second.get() : AddKernel(id);
  return *last_kernel_;
}

const FunctionFacts& Joiner::FunctionOf(uint16_t id) {
  if (id >= functions_.size()) functions_.resize(id + size_t{1});
  if (functions_[id] != nullptr) return *functions_[id];
  auto facts = std::make_unique<FunctionFacts>();
  bool gives_enum = false, gives_nothing = false;
  if (const trace::Function* const known = log_.FindFunction(id)) {
    gives_enum = known->result_type == "enum";
    gives_nothing = known->result_type == "-";
    facts->function = *known;
  } else {
    facts->function = Function("unknown", "function " + std::to_string(id), "", "");
    ++counts_.calls_without_function;
  }
  const Function& function = facts->function;
  facts->number = functions_seen_++;
  facts->copy = CopyCallOf(function);
  facts->sets_device = function.domain == "hip" && function.name == "hipSetDevice";
  facts->gives_status = gives_enum && (function.domain == "hip" || function.domain == "hsa");
  facts->hides_status = gives_nothing && function.domain == "hip";
  facts->stream = std::max(function.Find("stream"), function.Find("hStream"));
  facts->event = std::max(function.Find("event"), function.Find("hEvent"));
  facts->wait = WaitOf(function);
  facts->kept = filter_ == nullptr || filter_->KeepsCall(function.name);
  ForEachSink([&](EventSink& sink) { sink.OnFunctionFacts(*facts); });
  functions_[id] = std::move(facts);
  return *functions_[id];
}

// --- calls

Joiner::PendingCall& Joiner::PendingCallOf(Thread& thread, uint64_t correlation) {
  for (size_t i = thread.calls_used; i-- > 0;)
    if (thread.calls[i].correlation == correlation) return thread.calls[i];
  if (thread.calls_used == kMostOpenCalls) AbandonOldestCall(thread);
  ROCHOUND_DCHECK(thread.calls_used < kMostOpenCalls && thread.calls_used <= thread.calls.size());
  if (thread.calls_used == thread.calls.size()) thread.calls.emplace_back();
  PendingCall& call = thread.calls[thread.calls_used++];
  call.correlation = correlation;
  call.waiting.clear();
  call.gpu = -1;
  call.has_launch = call.has_copy = false;
  return call;
}

// Its record never came: what it caused has no call.
void Joiner::AbandonOldestCall(Thread& thread) {
  ROCHOUND_DCHECK(thread.calls_used != 0);
  ++counts_.lost_calls;
  const auto first = thread.calls.begin();
  for (const uint32_t index : first->waiting) {
    ops_[index].has_call = true;
    CompleteOp(index);
  }
  std::rotate(first, first + 1, first + static_cast<ptrdiff_t>(thread.calls_used--));
}

void Joiner::OnCall(const trace::CallEvent& event) { CompleteCall(event, true); }

void Joiner::CompleteCall(const trace::CallEvent& event, bool returned) {
  const FunctionFacts& facts = FunctionOf(event.function);
  Thread& thread = ThreadOf(event.thread);
  size_t at = thread.calls_used;
  while (at > 0 && thread.calls[at - 1].correlation != event.correlation) --at;
  PendingCall* const pending = at > 0 ? &thread.calls[at - 1] : nullptr;

  if (facts.copy.is_copy && pending != nullptr)
    ShareOutCopy(*pending, facts, {event.words, event.texts});
  if (facts.sets_device && returned && event.result == 0 && !event.words.empty())
    thread.device = static_cast<int32_t>(event.words[0]);

  JoinedCall call{.event = event, .facts = facts, .returned = returned, .device = thread.device};
  if (facts.kept) {
    Seen(event.begin_ns, event.end_ns);
    if (pending != nullptr) {
      call.gpu = pending->gpu;
      if (pending->has_copy) call.copy = &pending->copy;
      if (pending->has_launch) {
        const KernelFacts& kernel = KernelOf(pending->launch.kernel);
        if (kernel.kept) {
          call.kernel = &kernel;
          call.launch = &pending->launch;
        }
      }
    }
    ForEachSink([&](EventSink& sink) { sink.OnCall(call); });
    if (call.row != 0) thread.Slot(event.correlation) = {event.correlation, call.row};
  } else {
    ++counts_.filtered_calls;
  }
  if (returned) waits_.Add(event, facts, thread.device, pending != nullptr ? pending->gpu : -1);
  if (pending == nullptr) return;
  const bool waited = returned && HostWaits::CopiedToHost(event, facts);
  for (const uint32_t index : pending->waiting) {
    PendingOp& op = ops_[index];
    op.has_call = true;
    op.times.call_row = call.row;
    op.has_stream = facts.stream >= 0;
    if (op.has_stream) op.stream = WordOf(facts.function, call.arguments(), facts.stream);
    if (waited) op.done_by = event.end_ns;
    CompleteOp(index);
  }
  const auto first = thread.calls.begin() + static_cast<ptrdiff_t>(at - 1);
  std::rotate(first, first + 1, thread.calls.begin() + static_cast<ptrdiff_t>(thread.calls_used--));
}

// Kernels of a copy call whose arguments did not tell what they copy: the call's bytes that nothing
// else moved, in its direction.
void Joiner::ShareOutCopy(const PendingCall& call, const FunctionFacts& facts,
                          const CallArguments& arguments) {
  int64_t left = SizeOfCopy(facts, arguments), sharing = 0;
  for (const uint32_t index : call.waiting) {
    const PendingOp& op = ops_[index];
    if (op.is_copy) left -= Signed(op.copy.bytes);
    if (op.copies) left -= Signed(op.moved.bytes);
    if (op.copies && op.moved.bytes == 0) ++sharing;
  }
  const int64_t kind = KindOfCopy(facts, arguments);
  for (const uint32_t index : call.waiting) {
    PendingOp& op = ops_[index];
    if (!op.copies || op.moved.bytes != 0 || sharing == 0) continue;
    const int64_t part = std::max<int64_t>(left, 0) / sharing--;
    left -= part;
    op.moved.bytes = static_cast<uint64_t>(part);
    if (op.moved.head.wide != kUnknownAgents) continue;
    const uint32_t gpu = process_.AgentOfQueue(op.dispatch.head.wide);
    const uint32_t from = kind == 1 || kind == 0 ? trace::kNoAgent : gpu;
    const uint32_t to = kind == 2 || kind == 0 ? trace::kNoAgent : gpu;
    op.moved.head.wide = from << 16 | to;
  }
}

// --- dispatches and copies

Joiner::PendingOp& Joiner::NewOp(uint32_t* index) {
  if (free_ops_.empty()) {
    *index = static_cast<uint32_t>(ops_.size());
    ops_.emplace_back();
  } else {
    *index = free_ops_.back();
    free_ops_.pop_back();
  }
  PendingOp& op = ops_[*index];
  ROCHOUND_DCHECK(!op.used);
  op.used = true;
  op.has_call = op.has_time = op.has_stream = false;
  op.done_by = 0;
  op.times = {};
  op.number = ++next_number_;
  return op;
}

void Joiner::OnDispatch(const trace::Event<trace::KernelDispatch>& event) {
  uint32_t index = 0;
  PendingOp& op = NewOp(&index);
  op.dispatch = event.record;
  op.dispatch_number = ++next_dispatch_;
  op.is_copy = false;
  op.copies = KernelOf(event.record.kernel).copies;
  if (op.copies) {
    trace::Copy& told = ThreadOf(event.thread).by_kernel;
    const bool this_one = told.copy == event.record.dispatch && told.head.kind != trace::Kind::kEnd;
    op.moved = this_one ? told : trace::Copy{};
    if (!this_one) op.moved.head.wide = kUnknownAgents;
    told = {};
  }
  op.times.submit = event.begin_ns;
  AddOp(event.thread, index, event.record.correlation, KeyOf(event.record));
}

void Joiner::OnCopy(const trace::Event<trace::Copy>& event) {
  if (static_cast<trace::CopyKind>(event.record.head.small) == trace::CopyKind::kByKernel) {
    ThreadOf(event.thread).by_kernel = event.record;
    return;
  }
  uint32_t index = 0;
  PendingOp& op = NewOp(&index);
  op.copy = event.record;
  op.is_copy = true;
  op.copies = false;
  op.times.submit = event.begin_ns;
  AddOp(event.thread, index, event.record.correlation, KeyOf(event.record));
}

void Joiner::AddOp(const trace::Thread& where, uint32_t index, uint64_t correlation, uint64_t key) {
  PendingOp& op = ops_[index];
  Seen(op.times.submit, op.times.submit);
  OpTime time;
  if (TakeEarlyTime(early_, key, &time) || TakeEarlyTime(earlier_, key, &time)) {
    SetTime(op, time);
  } else {
    untimed_.Insert(key, index);
    if (untimed_.size() >= kMostUntimed) GiveUpOldOps(next_number_ - kMostUntimed / 2);
  }
  if (correlation == 0) {
    op.has_call = true;
  } else {
    Thread& thread = ThreadOf(where);
    const Thread::Completed& completed = thread.Slot(correlation);
    if (completed.correlation == correlation) {
      op.has_call = true;
      op.times.call_row = completed.row;
    } else {
      PendingCall& call = PendingCallOf(thread, correlation);
      call.waiting.push_back(index);
      const bool told = op.copies && op.moved.head.wide != kUnknownAgents;
      if ((op.is_copy || told) && !call.has_copy) {
        call.has_copy = true;
        call.copy = op.is_copy ? op.copy : op.moved;
      }
      if (!op.is_copy && call.gpu < 0) {
        call.gpu = process_.GpuId(process_.AgentOfQueue(op.dispatch.head.wide));
      }
      if (!op.is_copy && !call.has_launch && KernelOf(op.dispatch.kernel).of_program) {
        call.has_launch = true;
        call.launch = op.dispatch;
      }
    }
  }
  CompleteOp(index);
}

void Joiner::OnKernelTime(const trace::Event<trace::KernelTime>& event) {
  OnTime(event.record.dispatch & ~kCopyKey,
         {event.begin_ns, event.end_ns, event.record.head.small});
}

void Joiner::OnCopyTime(const trace::Event<trace::CopyTime>& event) {
  OnTime(event.record.copy | kCopyKey, {event.begin_ns, event.end_ns, event.record.head.small});
}

void Joiner::OnTime(uint64_t key, const OpTime& time) {
  if (time.end != 0) {
    // Work cannot have been done long before the log's first record, or after its last.
    if (time.begin + kClockTolerance < log_.first_ns() ||
        time.end > log_.end_ns() + kClockTolerance)
      ++counts_.doubtful_times;
  }
  const uint32_t index = untimed_.Remove(key);
  if (index != FlatMap::kNone) {
    SetTime(ops_[index], time);
    CompleteOp(index);
    return;
  }
  // Its chunk comes later. Those that wait longest never had one.
  if (early_.index.size() >= kMostEarlyTimes) {
    earlier_ = std::move(early_);
    early_ = {};
  }
  early_.index.Insert(key, static_cast<uint32_t>(early_.times.size()));
  early_.times.push_back(time);
}

bool Joiner::TakeEarlyTime(EarlyTimes& early, uint64_t key, OpTime* time) {
  if (early.index.size() == 0) return false;
  const uint32_t at = early.index.Remove(key);
  if (at == FlatMap::kNone) return false;
  ROCHOUND_DCHECK(at < early.times.size());
  *time = early.times[at];
  if (early.index.size() == 0) early.times.clear();
  return true;
}

Joiner::QueueProgress& Joiner::ProgressOf(const trace::KernelDispatch& dispatch) {
  const size_t queue = dispatch.head.wide & 0xffff;  // as many as a dispatch's number has room for
  if (queue >= queues_.size()) queues_.resize(queue + 1);
  return queues_[queue];
}

void Joiner::SetTime(PendingOp& op, const OpTime& time) {
  if (!op.is_copy && time.end != 0) {
    QueueProgress& queue = ProgressOf(op.dispatch);
    queue.packet = std::max(queue.packet, trace::PacketOf(op.dispatch.dispatch));
    queue.end = std::max(queue.end, time.end);
  }
  op.has_time = true;
  op.times.agent = time.agent;
  op.times.timed = time.begin != 0 || time.end != 0;
  op.times.begin = op.times.timed ? time.begin : op.times.submit;
  op.times.end = op.times.timed ? std::max(time.begin, time.end) : op.times.submit;
  ROCHOUND_DCHECK(op.times.begin <= op.times.end);
}

// Gives the operation to the sinks once everything about it is known.
void Joiner::CompleteOp(uint32_t index) {
  PendingOp& op = ops_[index];
  // Not twice, though a log may have two dispatches of one number.
  if (!op.used || !op.has_call || !op.has_time) return;
  // A time that cannot be is shown, but does not make the trace longer.
  if (op.times.timed && op.times.begin + kClockTolerance >= log_.first_ns() &&
      op.times.end <= log_.end_ns() + kClockTolerance)
    Seen(op.times.begin, op.times.end);
  op.is_copy ? CompleteCopy(op) : CompleteKernel(op);
  op.used = false;
  free_ops_.push_back(index);
}

void Joiner::CompleteKernel(const PendingOp& op) {
  const KernelFacts& kernel = KernelOf(op.dispatch.kernel);
  if (!kernel.kept) {
    ++counts_.filtered_kernels;
    return;
  }
  if (op.times.unfinished)
    ++counts_.unfinished_kernels;
  else if (!op.times.timed && !op.times.waited_for)
    ++counts_.untimed_kernels;
  const JoinedKernel joined{.dispatch = op.dispatch,
                            .facts = kernel,
                            .times = op.times,
                            .number = op.dispatch_number,
                            .moved = op.copies ? &op.moved : nullptr};
  ForEachSink([&](EventSink& sink) { sink.OnKernel(joined); });
}

void Joiner::CompleteCopy(const PendingOp& op) {
  if (op.times.unfinished)
    ++counts_.unfinished_copies;
  else if (!op.times.timed && !op.times.waited_for)
    ++counts_.untimed_copies;
  ForEachSink([&](EventSink& sink) { sink.OnCopy({op.copy, op.times}); });
}

// Completes those that were seen before number `before` without what they still wait for.
void Joiner::GiveUpOldOps(uint64_t before) {
  for (uint32_t index = 0; index < ops_.size(); ++index) {
    PendingOp& op = ops_[index];
    if (!op.used || op.has_time || op.number >= before) continue;
    untimed_.Remove(op.Key());
    SetTime(op, {0, 0, trace::kNoAgent});
    CompleteOp(index);
  }
}

// By when an operation without a time was over, as the host's waiting shows; 0: nothing shows it.
uint64_t Joiner::DoneBy(const PendingOp& op) const {
  if (op.done_by != 0 || op.is_copy) return op.done_by;
  return waits_
      .DoneBy(process_.GpuId(process_.AgentOfQueue(op.dispatch.head.wide)),
              op.has_stream ? std::optional(op.stream) : std::nullopt, op.times.submit)
      .value_or(0);
}

// At the end: what was handed to a GPU and is not known to have finished ran when the process
// ended, unless the host had waited for it. A kernel cannot have started before those that its
// queue had finished, nor at all if it waits for one that never did.
void Joiner::EndUnfinishedOps() {
  uint64_t dropped = log_.unknown_reasons_dropped();
  for (const auto reason : {trace::DropReason::kNoChunk, trace::DropReason::kRecycled})
    dropped += log_.Dropped(reason);
  std::vector<uint32_t> waiting;
  for (uint32_t index = 0; index < ops_.size(); ++index)
    if (ops_[index].used && !ops_[index].has_time) waiting.push_back(index);
  std::sort(waiting.begin(), waiting.end(),
            [&](uint32_t a, uint32_t b) { return ops_[a].number < ops_[b].number; });
  for (const uint32_t index : waiting) {
    PendingOp& op = ops_[index];
    const uint64_t done_by = DoneBy(op);
    const uint64_t end = std::max(done_by != 0 ? done_by : log_.end_ns(), op.times.submit);
    uint64_t begin = op.times.submit;
    if (done_by != 0) {
      if (!op.is_copy) {
        QueueProgress& queue = ProgressOf(op.dispatch);
        begin = std::clamp(queue.end, begin, end);
        queue.end = std::max(queue.end, end);
      }
      ++counts_.waited_for;
    } else if (op.is_copy) {
      if (dropped > 0) continue;  // its time may be what was dropped
    } else {
      QueueProgress& queue = ProgressOf(op.dispatch);
      if (dropped > 0 && trace::PacketOf(op.dispatch.dispatch) <= queue.packet) continue;
      begin = queue.stuck && WaitsForQueue(op.dispatch) ? end : std::clamp(queue.end, begin, end);
      queue.stuck = true;
    }
    untimed_.Remove(op.Key());
    ROCHOUND_DCHECK(begin <= end);
    op.has_time = true;
    op.times.unfinished = done_by == 0;
    op.times.waited_for = done_by != 0;
    op.times.begin = begin;
    op.times.end = end;
    Seen(begin, end);
    CompleteOp(index);
  }
}

// --- memory, ranges, the recorder itself

void Joiner::OnAllocation(const trace::Event<trace::Allocation>& event) {
  if (!allocations_.Allocate(event.record, event.begin_ns)) return;
  ForEachSink(
      [&](EventSink& sink) { sink.OnAllocation(allocations_.allocation, allocations_.end_ns); });
}

void Joiner::OnRelease(const trace::Event<trace::Release>& event) {
  if (!allocations_.Release(event.record.address, event.begin_ns)) return;
  ForEachSink(
      [&](EventSink& sink) { sink.OnAllocation(allocations_.allocation, allocations_.end_ns); });
}

void Joiner::OnRange(const trace::Event<trace::Range>& event) {
  ranges_.Add(event, process_.String(event.record.head.wide));
}

void Joiner::OnThreadEnd(const trace::Event<trace::ThreadEnd>& event) {
  ranges_.EndThread(event.thread.index, event.begin_ns);
}

// What to say about a launch that was captured, or should have been.
SwapComparison Joiner::ComparisonOf(const trace::Swap& swap) const {
  const std::string reason(process_.String(swap.reason));
  if (swap.head.small == static_cast<uint16_t>(trace::SwapDecision::kNotSampled))
    return {kSwapNotVerified, reason};
  if (comparisons_ != nullptr)
    if (const auto found = comparisons_->find(reason); found != comparisons_->end())
      return found->second;
  return {kSwapNotVerified, "a launch was captured, and nobody compared it"};
}

void Joiner::OnSwap(const trace::Event<trace::Swap>& event) {
  constexpr const char* kDecisions[] = {"", "swapped", "alternating", "refused", "launch refused"};
  const trace::Swap& swap = event.record;
  // The recorder says it again when old parts of the log are dropped.
  if (!swaps_.emplace(swap.head.wide, swap.head.small, swap.candidate, swap.file, swap.reason)
           .second)
    return;
  const auto decision = static_cast<trace::SwapDecision>(swap.head.small);
  SwapComparison told;
  if (decision == trace::SwapDecision::kSampled || decision == trace::SwapDecision::kNotSampled) {
    told = ComparisonOf(swap);
  } else {
    const bool known = swap.head.small < std::size(kDecisions);
    told = {known ? kDecisions[swap.head.small] : "unknown",
            std::string(process_.String(swap.reason))};
  }
  const auto kernel = [&](uint32_t id) { return id == 0 ? nullptr : &KernelOf(id); };
  const JoinedSwap joined{.kernel = kernel(swap.head.wide),
                          .candidate = kernel(swap.candidate),
                          .begin_ns = event.begin_ns,
                          .decision = decision,
                          .result = std::move(told.result),
                          .reason = std::move(told.reason),
                          .file = process_.String(swap.file)};
  ForEachSink([&](EventSink& sink) { sink.OnSwap(joined); });
}

void Joiner::CompleteRange(const RangePairs::Range& range) {
  counts_.unfinished_ranges += range.unfinished;
  Seen(range.begin, range.end);
  ForEachSink([&](EventSink& sink) { sink.OnRange(range); });
}

void Joiner::OnOverhead(const trace::Event<trace::Overhead>& event) {
  ForEachSink([&](EventSink& sink) { sink.OnOverhead(event); });
}

void Joiner::OnStateChange(const trace::Event<trace::StateChange>& event) {
  if (static_cast<trace::RecorderState>(event.record.head.small) != trace::RecorderState::kDisabled)
    return;
  Lost(std::string(lost_kinds::kEndedEarly), 1,
       std::string(process_.String(static_cast<uint32_t>(event.record.reason))));
}

bool Joiner::OnProgress(uint64_t done, uint64_t) {
  stopped_ = progress_ && !progress_(done);
  return !stopped_;
}

// --- the end

void Joiner::Lost(std::string what, uint64_t count, std::string note) {
  const LostEvents lost{std::move(what), count, std::move(note)};
  ForEachSink([&](EventSink& sink) { sink.OnLost(lost); });
}

void Joiner::Finish() {
  for (const auto& thread : threads_) {
    if (thread == nullptr) continue;
    while (thread->calls_used > 0) AbandonOldestCall(*thread);
  }
  ranges_.Finish(log_.end_ns());
  EndUnfinishedOps();
  GiveUpOldOps(UINT64_MAX);
  for (const AllocationPairs::Allocation& allocation : allocations_.Live())
    ForEachSink([&](EventSink& sink) { sink.OnAllocation(allocation, 0); });
  for (const trace::Unrecorded& pause : log_.unrecorded())
    ForEachSink([&](EventSink& sink) { sink.OnUnrecorded(pause); });
  for (const LostEvents& lost : ListLostEvents(log_, counts_, filter_))
    ForEachSink([&](EventSink& sink) { sink.OnLost(lost); });
  ForEachSink([&](EventSink& sink) { sink.OnEnd(end_); });
}

}  // namespace rochound::store
