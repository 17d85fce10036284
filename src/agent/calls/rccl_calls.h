// SPDX-License-Identifier: MIT
//
// Recorders for RCCL's calls. RCCL hands its table of functions to rocprofiler-register where it
// was built with that; else the table is found in its memory (table_finder.h). Set-up and the drain
// thread only. A build without RCCL's headers gets rccl_calls_none.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/calls/libraries.h"

namespace rochound::agent {

// The table as RCCL hands it over.
void TakeRcclTable(void* table);

// Finds the table of an RCCL among these that hands it to nobody.
void AttachRccl(const std::vector<Library>& libraries);

// Lines of the functions file.
void AppendRcclFunctions(std::string* text);

}  // namespace rochound::agent
