// SPDX-License-Identifier: MIT
//
// Finds the dispatch tables of a HIP that was built without rocprofiler-register (as distributions
// build it) and so hands them to nobody, though every call goes through them. They are recognised
// by what the table's contract says: a size in bytes, then so many pointers into HIP's own code.
// And each entry is checked on its own: the exported function of that name must have the entry's
// offset in its code. What cannot be checked is left alone. Reads HIP's memory, changes nothing.
// Set-up only. docs/decisions/recorder-hip-calls.md has the reasons and the figures.
#pragma once

#include <cstddef>
#include <vector>

#include "agent/calls/hip_tables.h"
#include "agent/calls/libraries.h"

namespace rochound::agent {

struct FoundHipTables {
  void* runtime = nullptr;
  void* compiler = nullptr;
  std::vector<const HipTableEntry*> entries;  // the ones that were checked; install these
};

// A table is null when it is not there yet (HIP fills it in at the first call that needs it), when
// more than one was found, or when the checks do not agree with our headers. `handle`: for dlsym.
FoundHipTables FindHipTables(const Library& library, void* handle);

}  // namespace rochound::agent
