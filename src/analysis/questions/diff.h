// SPDX-License-Identifier: MIT
//
// The question `diff`: what changed between two traces, and whether it is more than chance. The
// trace has exactly two sources; the first is the one before.
#pragma once

#include "analysis/questions.h"

namespace rochound::analysis {

base::Result<Answer> AskDiff(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
