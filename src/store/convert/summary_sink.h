// SPDX-License-Identifier: MIT
//
// Adds what one process did to the summary of its run. One thread; made by the conversion for each
// process.
#pragma once

#include <set>
#include <vector>

#include "store/convert/joined_events.h"
#include "store/convert/summary.h"

namespace rochound::store {

class SummarySink final : public EventSink {
 public:
  // Both outlive the sink.
  SummarySink(const ProcessContext& process, Summary* summary);

  void OnFunctionFacts(const FunctionFacts& facts) override;
  void OnKernelFacts(const KernelFacts& facts) override;
  void OnCall(JoinedCall& call) override;
  void OnKernel(const JoinedKernel& kernel) override;
  void OnCopy(const JoinedCopy& copy) override;
  void OnRange(const RangePairs::Range& range) override;
  void OnSwap(const JoinedSwap& swap) override;
  void OnUnrecorded(const trace::Unrecorded& pause) override;
  void OnLost(const LostEvents& lost) override;
  void OnEnd(const ProcessEnd& end) override;

 private:
  void Busy(const OpTimes& times);

  const ProcessContext& process_;
  const trace::ProcessLog& log_;
  Summary* const summary_;
  std::vector<Summary::Total*> functions_;  // by number
  std::vector<Summary::Total*> kernels_;    // by number; null: not of the program
  std::vector<uint64_t> launches_;          // by number
  std::set<size_t> candidates_;             // numbers of kernels that take the place of others
};

}  // namespace rochound::store
