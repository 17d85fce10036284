// SPDX-License-Identifier: MIT
//
// Where roctx's ranges come from: libroctx64 (roctracer's) reports them to a tracer callback;
// rocprofiler-sdk's roctx hands its table to rocprofiler-register, and where that is not for us,
// the table is found in its memory. Set-up and the drain thread only.
#pragma once

#include <vector>

#include "agent/calls/libraries.h"

namespace rochound::agent {

// Makes libroctx64 report to us. When the program has not loaded it yet, it is loaded here, so that
// a program that opens it later gets a library that we already listen to. Once, at set-up.
void OpenRoctx();

// The same for copies of it that came with the program, among `libraries`.
void AttachRoctx(const std::vector<Library>& libraries);

// The table of rocprofiler-sdk's roctx.
void TakeRoctxTable(void* table);
// And that of its roctxProfilerPause and roctxProfilerResume.
void TakeRoctxControlTable(void* table);

}  // namespace rochound::agent
