// SPDX-License-Identifier: MIT
//
// For tests: a library that exports all functions of HIP as HIP does, by way of a table, in the
// order of HIP's headers but for a function that these do not know before the last three.
#include <cstddef>

#define ROCHOUND_IN_HipDispatchTable(function) ROCHOUND_RUNTIME_FUNCTION(function)
#define ROCHOUND_IN_HipCompilerDispatchTable(function)
#define ROCHOUND_HIP_FUNCTION(table, function, names, outs) ROCHOUND_IN_##table(function)

namespace {

enum Number : size_t {
#define ROCHOUND_RUNTIME_FUNCTION(function) k_##function,
#include "agent/calls/hip_functions.inc"
#undef ROCHOUND_RUNTIME_FUNCTION
  kFunctions
};

constexpr size_t kBetween = kFunctions > 3 ? kFunctions - 3 : 0;
constexpr size_t Place(size_t function) { return function + (function >= kBetween ? 1 : 0); }

struct Table {
  size_t size;
  int (*entries[kFunctions + 1])();
};

template <size_t kNumber>
int Called() {
  return static_cast<int>(kNumber);
}

Table* Get() {
  static Table made;
  static Table* const filled = [] {
    made.size = sizeof(Table);
#define ROCHOUND_RUNTIME_FUNCTION(function) \
  made.entries[Place(k_##function)] = Called<k_##function>;
#include "agent/calls/hip_functions.inc"
#undef ROCHOUND_RUNTIME_FUNCTION
    made.entries[kBetween] = Called<kFunctions>;
    return &made;
  }();
  return filled;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED void* TheTable() { return Get(); }
EXPORTED int hipNewBetween() { return Get()->entries[kBetween](); }
#define ROCHOUND_RUNTIME_FUNCTION(function) \
  EXPORTED int function() { return Get()->entries[Place(k_##function)](); }
#include "agent/calls/hip_functions.inc"
#undef ROCHOUND_RUNTIME_FUNCTION
