// SPDX-License-Identifier: MIT
//
// Finds the dispatch tables of a HIP that does not hand them to us, though every call goes through
// them: it was built without rocprofiler-register (as distributions build it), or hands them to
// another profiler. table_finder.h says how; what cannot be checked is left alone. Set-up only.
// docs/decisions/recorder-hip-calls.md has the reasons and the figures.
#pragma once

#include <cstddef>
#include <vector>

#include "agent/calls/hip_tables.h"
#include "agent/calls/libraries.h"
#include "agent/calls/new_functions.h"

namespace rochound::agent {

// The entries of a table of `size` bytes that this library's exported functions agree with; empty
// when so many differ that the others agree by chance. `handle`: the library's, for dlsym.
std::vector<const HipTableEntry*> CheckedEntries(const Library& library, void* handle,
                                                 HipTable kind, size_t size);

// An entry, and by how many bytes it is after where our headers have it.
struct HipEntryAt {
  const HipTableEntry* entry;
  ptrdiff_t moved;
};

// What is where in a table: of another release, entries may have moved, and there may be new
// functions between them and after them.
struct HipTableLayout {
  std::vector<HipEntryAt> known;
  std::vector<NewFunction> unknown;  // of the runtime's table
  bool readable = false;             // the library exports functions that we know
};

// Read from the code of the functions that the library exports. What is not clear is left out.
HipTableLayout ReadHipTable(const Library& library, void* handle, HipTable kind, size_t size);

struct FoundHipTables {
  void* runtime = nullptr;
  void* compiler = nullptr;
  bool has_profiler = false;       // another profiler's functions are in the runtime's
  bool being_handed_over = false;  // the runtime's is there, but HIP's set-up is in progress
};

// A table is null when it is not there yet (HIP fills it in at the first call that needs it), or
// when more than one place looks like it. loaded: the libraries that are loaded.
FoundHipTables FindHipTables(const Library& library, const std::vector<Library>& loaded);

}  // namespace rochound::agent
