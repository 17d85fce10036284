// SPDX-License-Identifier: MIT
#include "store/convert/line_sinks.h"

#include <optional>

#include "store/convert/lines.h"

namespace rochound::store {

void CallLineSink::OnCall(JoinedCall& call) {
  const Function& function = call.facts.function;
  std::optional<int64_t> device;
  if (function.domain == "hip") device = call.device;
  if (call.gpu >= 0) device = call.gpu;
  AppendCallLine(output_->buffer(), {call.event, function, log_.realtime_offset_ns(), log_.pid(),
                                     device, call.returned});
  output_->LineDone();
}

void DurationLineSink::OnKernel(const JoinedKernel& kernel) {
  if (!kernel.facts.of_program) return;
  AppendDurationLine(output_->buffer(), kernel.facts.name, kernel.number, kernel.times.begin,
                     kernel.times.end);
  output_->LineDone();
}

}  // namespace rochound::store
