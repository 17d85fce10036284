// SPDX-License-Identifier: MIT
//
// roctx as rocprofiler-sdk has it: every function goes through a table that is filled in at the
// first call. Hands its tables to nobody. Recognised by its file's name, librocprofiler-sdk-roctx.
#include <cstdint>

#include "roctx_tables.h"

namespace {

struct Tables {
  RoctxTable core;
  RoctxControlTable control;
};

int depth = 0;

const Tables* Get() {
  static Tables made;
  static const Tables* const filled = [] {
    made.core = {sizeof(RoctxTable),
                 [](const char*) {},
                 [](const char*) { return depth++; },
                 [] { return --depth; },
                 [](const char*) { return uint64_t{9}; },
                 [](uint64_t) {},
                 [](uint64_t* id) {
                   *id = 1;
                   return 0;
                 }};
    made.control = {sizeof(RoctxControlTable), [](uint64_t) { return 21; },
                    [](uint64_t) { return 22; }};
    return &made;
  }();
  return filled;
}

}  // namespace

// The functions have the names of the library that they stand for.
// NOLINTBEGIN(readability-identifier-naming)
#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED void roctxMarkA(const char* message) { Get()->core.mark(message); }
EXPORTED int roctxRangePushA(const char* message) { return Get()->core.push(message); }
EXPORTED int roctxRangePop() { return Get()->core.pop(); }
EXPORTED uint64_t roctxRangeStartA(const char* message) { return Get()->core.start(message); }
EXPORTED void roctxRangeStop(uint64_t id) { Get()->core.stop(id); }
EXPORTED int roctxGetThreadId(uint64_t* id) { return Get()->core.thread(id); }
EXPORTED int roctxProfilerPause(uint64_t thread) { return Get()->control.pause(thread); }
EXPORTED int roctxProfilerResume(uint64_t thread) { return Get()->control.resume(thread); }
// NOLINTEND(readability-identifier-naming)
