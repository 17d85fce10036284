// SPDX-License-Identifier: MIT
//
// What a trace made by `rochound run` says about whether its work ran on the GPU: dispatches, the
// time that a GPU was busy, CPU time, calls that failed, operators, libraries. Read from the SQLite
// file in a few passes; memory grows with the number of GPU operations and ranges. One thread.
// Errors are of the file: not a trace, or not one of ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/run/layers.h"
#include "doctor/run/operators.h"
#include "store/rpd/hang_limit.h"

namespace rochound::doctor {

inline constexpr int64_t kNoMemory = -1;

// All failures of one function with one error.
struct FailedCall {
  std::string domain;    // hip, hsa
  std::string function;  // hipMalloc
  std::string category;  // memory, copy, launch, ...
  int64_t result = 0;    // kNoMemory: not recorded, but no memory was allocated
  int64_t count = 0;
  int64_t first_ns = 0;          // since the run began
  std::string arguments;         // of the first
  int64_t calls_after = 0;       // of HIP, by the same process after the first
  int64_t same_after = 0;        // of these, the same function and with success
  int64_t dispatches_after = 0;  // in the same process
  int64_t time_after_ns = 0;     // until the process ended
};

// A kernel that was in flight when its process ended.
struct UnfinishedKernel {
  std::string name;
  int64_t pid = 0;
  int64_t gpu = 0;
  int64_t submitted_ns = 0;  // before the process's end
  int64_t running_ns = 0;    // as far as its queue can tell; 0: it waited for another one
  int64_t longest_ns = 0;    // of its launches that ended; 0: there is none
  bool hangs() const { return store::LooksHung(running_ns, longest_ns); }
};

struct RunProcess {
  int64_t session = 0;
  int64_t pid = 0;
  std::string executable;
  std::string note;  // killed, still running
  int64_t start = 0, end = 0;
  int64_t cpu_ns = -1;      // since the runtime started; -1: not known
  int64_t gpu_cpu_ns = 0;   // of that, threads that play a GPU or record
  int64_t in_calls_ns = 0;  // spent inside of HIP (of HSA without HIP), all threads
  int64_t dispatches = 0;   // of the program
  std::vector<std::string> libraries;
  std::vector<Layer> layers;
};

struct RunFacts {
  std::string command;
  std::string status;           // "exit 0", "signal 11"; empty: not known
  int64_t length_ns = 0;        // from the first process's start to the last one's end
  int64_t program_cpu_ns = -1;  // of all its processes, GPU or not; -1: not known
  int64_t calls = 0;            // of HIP and HSA
  int64_t dispatches = 0;       // kernels of the program
  int64_t runtime_kernels = 0;
  int64_t copies = 0;
  int64_t busy_ns = 0;          // some GPU ran a kernel
  int64_t busy_copying_ns = 0;  // ran a kernel or copied
  std::string usage;            // "GPU 0 was busy 8.9% of 1.20 s"; empty: none did anything
  std::vector<std::string> gpus;
  std::vector<RunProcess> processes;
  std::vector<FailedCall> failures;          // in the order of their first times
  std::vector<UnfinishedKernel> unfinished;  // in the order of submission
  std::vector<std::string> unreturned;       // calls, "hipDeviceSynchronize, 6.01 s"
  std::vector<Operator> operators;
  std::vector<std::string> lost;        // what the trace lacks, in words
  std::vector<std::string> unrecorded;  // processes that used a GPU and left no log, in words
  bool has_failures = true;             // false: an older trace, which does not have results
};

base::Result<RunFacts> ReadRun(const std::filesystem::path& trace);

// CPU time that was used outside of HIP while no GPU was busy, at least; -1: not known.
int64_t HostWork(const RunFacts& run);

}  // namespace rochound::doctor
