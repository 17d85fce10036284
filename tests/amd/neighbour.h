// SPDX-License-Identifier: MIT
//
// A profiler beside ours: a library that gets into programs and behaves there as rocprofiler-sdk is
// documented to. It is not the SDK, which Debian does not have.
//
//   libneighbour_sdk.so    rocprofiler_set_api_table: what rocprofiler-register hands tables to.
//   Keeps
//                          the tables as they are, puts functions of its own into them, and creates
//                          HSA queues that let it see every packet. Sets the variables that the SDK
//                          sets for its process, and so for all that the process starts.
//   libneighbour_tool.so   rocprofiler_configure: a tool of that SDK, which rocprofiler-register
//                          recognises as a wish to be profiled.
//
// Counts the HIP calls that a program makes, by function, and the kernels it dispatches, and writes
// both to the file $NEIGHBOUR_COUNTS.PID when the process ends, in the form of `counts` lines.
#pragma once

#include <cstdint>

extern "C" {

int rocprofiler_set_api_table(const char* name, uint64_t version, uint64_t instance, void** tables,
                              uint64_t count);

// What a program calls that brings the profiler along and switches it on in the middle: from then
// on the tables that were registered before are taken, too.
int neighbour_force_configure();
}
