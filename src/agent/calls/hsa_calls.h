// SPDX-License-Identifier: MIT
//
// Records the program's and the HIP runtime's calls of the HSA runtime. Called while the runtime
// loads us, on its thread, after the agent's own hooks were put into the table: the recorders sit
// on top of them. Costs nothing unless installed.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <string>

namespace rochound::agent {

// Puts a recorder into every entry that is not null: tables in the order of our headers
// (hsa_tables.h).
void InstallHsaCalls(HsaApiTable* table);

// Their lines of the functions file.
void AppendHsaFunctions(std::string* text);

}  // namespace rochound::agent
