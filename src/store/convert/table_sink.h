// SPDX-License-Identifier: MIT
//
// Writes what one process did into the tables of a trace, as RPD means them. One thread; made by
// the conversion for each process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/convert/joined_events.h"
#include "store/convert/symbolizer.h"
#include "store/rpd/trace_writer.h"

namespace rochound::store {

class TableSink final : public EventSink {
 public:
  // Begins a session of the writer. Both outlive the sink.
  TableSink(const ProcessContext& process, TraceWriter* writer);

  void OnFunctionFacts(const FunctionFacts& facts) override;
  void OnKernelFacts(const KernelFacts& facts) override;
  void OnCall(JoinedCall& call) override;
  void OnKernel(const JoinedKernel& kernel) override;
  void OnCopy(const JoinedCopy& copy) override;
  void OnRange(const RangePairs::Range& range) override;
  void OnAllocation(const AllocationPairs::Allocation& allocation, uint64_t end_ns) override;
  void OnOverhead(const trace::Event<trace::Overhead>& event) override;
  void OnSwap(const JoinedSwap& swap) override;
  void OnUnrecorded(const trace::Unrecorded& pause) override;
  void OnLost(const LostEvents& lost) override;
  void OnEnd(const ProcessEnd& end) override;

 private:
  struct FunctionStrings {
    int64_t name, category, domain;
  };
  struct KernelIds {
    int64_t row;                     // in rochound_kernel
    int64_t description, operation;  // strings
  };

  void WriteCopyCall(const JoinedCall& call);
  void WriteCopyRow(int64_t op, const trace::Copy& copy, const OpTimes& times);
  void WriteFacts();
  void WriteFrames(int64_t api, std::span<const uint64_t> frames);

  const ProcessContext& process_;
  const trace::ProcessLog& log_;
  TraceWriter* const writer_;
  std::vector<FunctionStrings> functions_;  // by number
  std::vector<KernelIds> kernels_;          // by number
  int64_t calls_ = 0, dispatches_ = 0, copies_ = 0;
  std::unique_ptr<Symbolizer> symbolizer_;
  std::unordered_map<uint64_t, int64_t> frame_names_;  // address -> string
  std::string text_, stream_, destination_, source_;
};

}  // namespace rochound::store
