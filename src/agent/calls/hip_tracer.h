// SPDX-License-Identifier: MIT
//
// Records HIP calls that HIP itself reports to a tracer. Used for what the dispatch tables cannot
// give, the calls that are in flight when we are loaded (HIP loads us inside its first call, after
// the call passed the table and before it reports itself), and for all calls where there are no
// tables. HIP calls us on the program's thread, around the body of each of its functions; it does
// not tell results.
//
// HIP 5.3 and later: hipRegisterTracerCallback, one callback, asked at each call whether it wants
// it. HIP before that: hipRegisterApiCallback and hipRegisterActivityCallback, once per function.
//
// The data that HIP passes (hip_api_data_t) has the layout of HIP's own header. Whether that is the
// header we were built with is seen from the names that HIP gives its functions; if not, we take
// from it only which function begins, and before 5.3 which one ends, and no arguments.
//
// A HIP that has a tracer also prepares reports about each graph it has run, and 7.2.4 reads freed
// memory there, whatever the tracer answers. So we are no tracer any more from the first call of a
// graph function on. See docs/decisions/recorder-hip-calls.md.
#pragma once

#include <cstdint>
#include <string>

namespace rochound::agent {

enum class TracerKind : uint8_t {
  kNone,         // HIP offers none, or another tool has it
  kFull,         // calls with arguments and end
  kNoArguments,  // HIP before 5.3, another than our headers': calls with end and result
  kBeginsOnly,   // a later HIP, another than our headers': names, no arguments, no end
};

// Makes this HIP report to us. `handle`: the library's, for dlsym. Once per library; set-up only.
// quietly: another profiler sees the calls that we make. HIP is then asked for the names of those
// functions only that are met, and we take no more than which function begins.
// A tracer that is there is not replaced. HIP before 5.3 does not show whether one is: there it is
// left to roctracer, if `roctracer` says that it is loaded.
TracerKind AttachHipTracer(void* handle, bool quietly, bool roctracer);

// Whether functions were met whose lines are not in the functions file yet. Tells it once.
bool MetTracedFunctions();

// No longer, where the tracer is still ours. What has begun is still recorded to its end. Any
// thread, any number of times.
void DetachHipTracers();

// Lines of the functions file, with the names of the first HIP that was attached.
void AppendTracedFunctions(std::string* text);

}  // namespace rochound::agent
