// SPDX-License-Identifier: MIT
//
// What the examples share: a call that fails ends the program.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                          \
  do {                                                                       \
    const hipError_t error_ = (call);                                        \
    if (error_ != hipSuccess) {                                              \
      fprintf(stderr, "line %d: %s\n", __LINE__, hipGetErrorString(error_)); \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

// Each example does its mistake, or is fixed: ./NAME fixed
inline bool IsFixed(int count, char** arguments) {
  return count > 1 && strcmp(arguments[1], "fixed") == 0;
}
