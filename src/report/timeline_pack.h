// SPDX-License-Identifier: MIT
//
// The timeline's events as the report's page unpacks them (web/src/events.ts): columns one after
// the other in numbers of seven bits per byte, deflated, in base64. Called once per report; cannot
// fail but by running out of memory. docs/decisions/report-data.md says why this shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/timeline.h"

namespace rochound::report {

//   start      from the end of the event before in its row, or from the timeline's begin
//   duration
//   name       place in the list of names
//   id         less that of the event before, with its sign in the lowest bit
//   merged     events that it stands for, less one
//   launch     place of the launch call plus one, less that of the event before, signed likewise
std::string PackColumns(const analysis::Timeline& timeline);

std::string Deflate(std::string_view bytes);  // in zlib's format
std::string Base64(std::string_view bytes);

}  // namespace rochound::report
