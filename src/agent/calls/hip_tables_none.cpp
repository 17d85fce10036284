// SPDX-License-Identifier: MIT
//
// For releases whose HIP has no dispatch tables (ROCm 5): the tracer callback is all there is.
#include "agent/calls/hip_tables.h"

namespace rochound::agent {

HipTableEntries KnownHipEntries() { return {nullptr, 0}; }
bool ClaimHipTable(HipTable) { return false; }
bool HasHipTable(HipTable) { return false; }
void AppendHipTableFunctions(std::string*) {}

}  // namespace rochound::agent
