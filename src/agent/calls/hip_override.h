// SPDX-License-Identifier: MIT
//
// The answers of HIP that agent/override.h corrects. Set-up only, and on the program's threads.
#pragma once

#include <chrono>  // before headers of HIP 6, which define __noinline__
#include <cstdint>

struct hip_api_data_s;  // NOLINT: HIP's name

namespace rochound::agent {

// Puts functions of ours under the table's entries, if anything is to be corrected. `has` tells
// which entries of the table are what their names say.
void OverrideHipTable(void* table, bool (*has)(const char* function, const void* context),
                      const void* context);

// A call that only the tracer saw: its answer is in the program's memory already.
void OverrideTracedAnswer(uint32_t id, const hip_api_data_s& data);

// Whether that corrects anything with this HIP.
bool CorrectsTracedAnswers();

}  // namespace rochound::agent
