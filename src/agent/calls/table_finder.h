// SPDX-License-Identifier: MIT
//
// Finds a library's table of its own functions where nobody hands it over, though every call goes
// through it. A table is recognised by its contract: a size in bytes, then so many pointers into
// the library's own code. Each entry is checked on its own: the exported function of that name must
// have the entry's offset in its code. Reads the library's memory, changes nothing. Set-up only.
#pragma once

#include <cstddef>

#include "agent/calls/libraries.h"

namespace rochound::agent {

// The only place where a table with so many entries starts. Null: not there yet (libraries fill
// theirs in at the first call that needs it), or more than one place looks like it.
void* FindTable(const Library& library, size_t least, size_t most);

// Whether the exported function of that name mentions the offset the way an instruction does that
// jumps or calls through [register + offset] or loads from there. `handle`: the library's.
enum class EntryCheck { kAgrees, kDiffers, kNotExported };
EntryCheck CheckTableEntry(const Library& library, void* handle, const char* function,
                           size_t offset);

}  // namespace rochound::agent
