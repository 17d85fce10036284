// SPDX-License-Identifier: MIT
//
// The heat map as a picture: a row per page of memory, in order of addresses, with its cache lines
// on the left, and the lines of the source that access it on the right.
#pragma once

#include <string>
#include <vector>

#include "probe/heatmap.h"

namespace rochound::probe {

// pages: the hottest first. places: what their numbers mean.
std::string HeatmapSvg(const std::vector<const HeatmapAnalyzer::Page*>& pages,
                       const std::vector<Location>& places);

}  // namespace rochound::probe
