// SPDX-License-Identifier: MIT
//
// The question `apis`: calls by the time they took themselves. One thread; memory grows with
// distinct names.
#pragma once

#include "analysis/questions.h"

namespace rochound::analysis {

base::Result<Answer> AskApis(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
