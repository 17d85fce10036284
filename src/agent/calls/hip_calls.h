// SPDX-License-Identifier: MIT
//
// Records calls of HIP, by whichever way this process's HIP offers: its dispatch tables when
// rocprofiler-register hands them to us or when they are found in its memory, and its tracer
// callback for the calls that are in flight just then, or for all where there are no tables. Set-up
// and the drain thread only.
#pragma once

#include <string>
#include <vector>

#include "agent/calls/hip_tables.h"
#include "agent/calls/libraries.h"

namespace rochound::agent {

// Attaches to every HIP among `libraries` that was not seen before. True: the functions file has
// changed. One thread at a time.
bool AttachHip(const std::vector<Library>& libraries);

// A table that HIP hands to us, with its version as HIP tells it (7.2.4 is 70204). Before HIP's
// first call gets through.
void TakeHipTable(HipTable kind, uint64_t version, void* table);

// Now and then: ends what is only for the beginning.
void FinishHipSetUp();

// Whether the functions file has changed since this was last asked.
bool HasNewHipFunctions();

// Lines of the functions file.
void AppendHipFunctions(std::string* text);

}  // namespace rochound::agent
