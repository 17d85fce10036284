// SPDX-License-Identifier: MIT
//
// A library that hands its tables to tools through rocprofiler-register as HIP, ROCr and roctx do:
// at the first use, before the call goes through the table. What a program sees of it.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// As HIP's; pointers to what HIP's own types would be.
int fake_hip_malloc(void** pointer, size_t size);
int fake_hip_get_device(int* device);
int fake_hip_launch(const void* function, unsigned blocks, unsigned threads);  // push, pop, launch
int fake_hip_load_module(void** module, const char* path);

int fake_roctx_push(const char* message);
int fake_roctx_pop();
void fake_roctx_mark(const char* message);
int fake_roctx_pause();   // 21
int fake_roctx_resume();  // 22

// hsa_signal_create through the table of a small HSA runtime: the signal's handle.
uint64_t fake_hsa_signal(int64_t initial);

// The same runtime loads a tool by its name, as HSA_TOOLS_LIB makes a real one do.
bool fake_hsa_load_tool(const char* path);

// How often rocprofiler-register refused one of the tables.
int fake_refusals();
}
