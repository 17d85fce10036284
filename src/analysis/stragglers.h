// SPDX-License-Identifier: MIT
//
// The question `stragglers`: which rank the others wait for, in collectives and in steps. A rank is
// a process on a GPU where collectives are asked, and a thread with steps where steps are. Nobody
// is named whose lateness chance would explain. One thread.
#pragma once

#include "analysis/questions.h"

namespace rochound::analysis {

base::Result<Answer> AskStragglers(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
