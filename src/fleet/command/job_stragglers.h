// SPDX-License-Identifier: MIT
//
// The stragglers of a job, from the lake. One thread; an Error if the lake has nothing of the job.
#pragma once

#include <string>

#include "base/result.h"
#include "fleet/lake/lake.h"
#include "fleet/stragglers/stragglers.h"

namespace rochound::fleet {

// `lake` has its view of sketches. Judged are the job's last seconds, up to its last interval; each
// rank is also compared with its own time before them.
base::Result<StragglerReport> FindJobStragglers(Lake& lake, const std::string& job,
                                                double last_seconds, double past_seconds);

}  // namespace rochound::fleet
