// SPDX-License-Identifier: MIT
//
// The question `memory`: how much memory was held over time on each GPU and on the host, what was
// held at the peak, and what was never freed. It is the memory that the HSA runtime gave out, which
// is what GPUs can see. One thread. Memory: 56 bytes per allocation, 20 per runtime call.
#pragma once

#include "analysis/questions.h"
#include "base/result.h"

namespace rochound::analysis {

base::Result<Answer> AskMemory(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
