// SPDX-License-Identifier: MIT
//
// The question `swaps`: what became of the kernels of the kernel cache (`rochound run
// --kernel-cache`), and how fast those that took another's place are beside it. One thread.
#pragma once

#include "analysis/questions.h"
#include "base/result.h"

namespace rochound::analysis {

base::Result<Answer> AskSwaps(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
