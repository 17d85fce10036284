// SPDX-License-Identifier: MIT
//
// How large a trace is: its time from the program's first event to its last, and how many things
// are in it. Quickly found. The recorder's own work is no part of the program and not counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::analysis {

struct Facts {
  int64_t begin = 0;   // ns, the trace's clock
  int64_t length = 0;  // ns, of which something was recorded (window.h)
  int64_t calls = 0, operations = 0;
  int64_t operation_ns = 0;  // of all operations, when nothing was recorded too
  int64_t processes = 0, gpus = 0;
  // File names of the libraries through which the program reached the GPU, itself first and KFD
  // last: app, libcuda.so.1, libamdhip64.so.7, ... Empty: not known. Of the first process that has
  // a CUDA layer, or else of the first one.
  std::vector<std::string> layers;
};

base::Result<Facts> ReadFacts(store::TraceDatabase& trace);

// Its times are those of an interpreter. False also for traces of other tools, which do not say
// what was loaded.
bool OnSoftwareGpu(store::TraceDatabase& trace);

}  // namespace rochound::analysis
