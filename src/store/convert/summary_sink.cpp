// SPDX-License-Identifier: MIT
#include "store/convert/summary_sink.h"

#include "store/convert/swap_comparison.h"

namespace rochound::store {
namespace {

void Add(Summary::Total* total, uint64_t begin, uint64_t end) {
  ++total->count;
  total->ns += Signed(end - begin);
}

}  // namespace

SummarySink::SummarySink(const ProcessContext& process, Summary* summary)
    : process_(process), log_(process.log), summary_(summary) {
  ++summary_->processes;
}

void SummarySink::OnFunctionFacts(const FunctionFacts& facts) {
  functions_.push_back(&summary_->calls_by_name[facts.function.name]);
}

void SummarySink::OnKernelFacts(const KernelFacts& facts) {
  launches_.push_back(0);
  kernels_.push_back(facts.of_program ? &summary_->kernels_by_name[facts.name] : nullptr);
}

void SummarySink::OnCall(JoinedCall& call) {
  ++summary_->calls;
  if (call.facts.function.domain == "hip") {
    ++summary_->ending.calls;
    if (!call.returned) summary_->ending.open_call = call.facts.function.name;
  }
  Add(functions_[call.facts.number], call.event.begin_ns, call.event.end_ns);
}

void SummarySink::OnKernel(const JoinedKernel& kernel) {
  Busy(kernel.times);
  ++launches_[kernel.facts.number];
  if (Summary::Total* const total = kernels_[kernel.facts.number]) {
    ++summary_->kernels;
    Add(total, kernel.times.begin, kernel.times.end);
  } else {
    ++summary_->runtime_kernels;
  }
  if (kernel.moved == nullptr) return;
  ++summary_->copies;
  summary_->copied_bytes += kernel.moved->bytes;
}

void SummarySink::OnCopy(const JoinedCopy& joined) {
  Busy(joined.times);
  ++summary_->copies;
  if (static_cast<trace::CopyKind>(joined.copy.head.small) != trace::CopyKind::kFill)
    summary_->copied_bytes += joined.copy.bytes;
}

void SummarySink::Busy(const OpTimes& times) {
  summary_->busy[process_.GpuId(times.agent)].Add(Signed(times.begin), Signed(times.end));
}

void SummarySink::OnRange(const RangePairs::Range&) { ++summary_->ranges; }

void SummarySink::OnSwap(const JoinedSwap& swap) {
  switch (swap.decision) {
    case trace::SwapDecision::kSampled:
    case trace::SwapDecision::kNotSampled:
      ++(swap.result == kSwapEqual       ? summary_->equal_swaps
         : swap.result == kSwapDifferent ? summary_->different_swaps
                                         : summary_->unverified_swaps);
      break;
    case trace::SwapDecision::kSwapped:
    case trace::SwapDecision::kAlternating:
      ++summary_->swapped;
      if (swap.candidate != nullptr) candidates_.insert(swap.candidate->number);
      break;
    default:
      ++summary_->refused_swaps;
  }
}

void SummarySink::OnUnrecorded(const trace::Unrecorded& pause) {
  summary_->unrecorded.push_back({Signed(pause.begin_ns), Signed(pause.end_ns)});
}

void SummarySink::OnLost(const LostEvents& lost) {
  summary_->lost.push_back({log_.pid(), lost.what, lost.count, lost.note});
}

void SummarySink::OnEnd(const ProcessEnd& end) {
  if (log_.running() && !log_.finished()) ++summary_->running;
  summary_->records += log_.records();
  for (const size_t candidate : candidates_) summary_->swapped_launches += launches_[candidate];
  summary_->Lived(Signed(log_.begin_ns()), Signed(log_.end_ns()));
  if (end.first_seen_ns != UINT64_MAX)
    summary_->Seen(Signed(end.first_seen_ns), Signed(end.last_seen_ns));
}

}  // namespace rochound::store
