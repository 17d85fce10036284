// SPDX-License-Identifier: MIT
//
// Whether rocprofiler-register hands libraries' tables to us. It asks one tool per process, and
// that need not be us, whatever the environment says: a profiler that the program brought comes
// first. Any thread, no failure.
#pragma once

namespace rochound::agent {

// rocprofiler-register has called us.
void SetRegistered();

// Whether the library hands its tables to us, now or when it is first used: it was built with
// rocprofiler-register, and that calls us. `handle`: the library's.
bool HandsOverTables(void* handle);

}  // namespace rochound::agent
