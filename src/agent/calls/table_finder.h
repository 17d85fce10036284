// SPDX-License-Identifier: MIT
//
// Finds a library's table of its own functions where nobody hands it over, though every call goes
// through it. A table is recognised by its contract: a size in bytes, then so many pointers into
// the library's own code, or into that of a profiler that came before us. Each entry is checked on
// its own: the exported function of that name must have the entry's offset in its code. Reads the
// library's memory, changes nothing. Set-up only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/calls/libraries.h"

namespace rochound::agent {

// How many entries a table may have.
struct TableSize {
  size_t least;
  size_t most;
};

struct FoundTable {
  // Null: not there yet (libraries fill theirs in at the first call that needs it), or more than
  // one place looks like it.
  void* table = nullptr;
  // False: somebody else's functions are in it, and the library does not use it yet. It is just
  // being handed to a profiler, so calling the library now would be a call within its own set-up.
  bool in_use = true;
  // Somebody else's functions are in it.
  bool foreign = false;
};

// The only place where a table of that size starts. loaded: the libraries that are loaded.
FoundTable FindTable(const Library& library, const std::vector<Library>& loaded, TableSize wanted);

// Whether the exported function of that name mentions the offset the way an instruction does that
// jumps or calls through [register + offset] or loads from there. `handle`: the library's.
enum class EntryCheck { kAgrees, kDiffers, kNotExported };
EntryCheck CheckTableEntry(const Library& library, void* handle, const char* function,
                           size_t offset);

// The offset at which a function finds its entry in a table of that many bytes: the only one that
// it loads, calls or jumps to by way of the register in which functions return pointers, or of the
// first one that this is copied to. 0: none, or more than one.
size_t LookedUpOffset(const void* function, size_t code_bytes, size_t table_bytes);

// The variable from which a function loads that register first; 0: none, or more than one.
uintptr_t TablePointer(const void* function, size_t code_bytes);

}  // namespace rochound::agent
