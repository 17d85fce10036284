// SPDX-License-Identifier: MIT
//
// A journal as a part of the report (`rochound report --optimize`): the history of candidates,
// where each failed, and the roofline before and after the best one. The page knows the fields.
// Pure; any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "optimize/journal.h"

namespace rochound::optimize {

// A JSON object {"format": "rochound optimize", "version": 1, ...}.
base::Result<std::string> JournalPage(Journal& journal);

}  // namespace rochound::optimize
