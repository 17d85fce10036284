// SPDX-License-Identifier: MIT
//
// What the lake has of ranks. One thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "fleet/lake/lake.h"
#include "fleet/metrics/rank_metrics.h"

namespace rochound::fleet {

base::Result<std::map<RankKey, RankTotals>> LoadRankTotals(Lake& lake, const std::string& tenant,
                                                           const std::set<RankKey>& ranks);

}  // namespace rochound::fleet
