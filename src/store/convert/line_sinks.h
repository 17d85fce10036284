// SPDX-License-Identifier: MIT
//
// Write one process's calls as JSON lines and its kernels as logduration's lines (lines.h). One
// thread; made by the conversion for each process.
#pragma once

#include "store/convert/joined_events.h"
#include "store/convert/text_output.h"

namespace rochound::store {

class CallLineSink final : public EventSink {
 public:
  CallLineSink(const ProcessContext& process, TextOutput* output)
      : log_(process.log), output_(output) {}
  void OnCall(JoinedCall& call) override;

 private:
  const trace::ProcessLog& log_;
  TextOutput* const output_;
};

class DurationLineSink final : public EventSink {
 public:
  explicit DurationLineSink(TextOutput* output) : output_(output) {}
  void OnKernel(const JoinedKernel& kernel) override;

 private:
  TextOutput* const output_;
};

}  // namespace rochound::store
