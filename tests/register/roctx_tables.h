// SPDX-License-Identifier: MIT
//
// The tables of rocprofiler-sdk's roctx, for the libraries here that stand for it; its own header
// is not everywhere. The agent has its own description on purpose: these tests compare the two.
#pragma once

#include <cstdint>

struct RoctxTable {
  uint64_t size;
  void (*mark)(const char* message);
  int (*push)(const char* message);
  int (*pop)();
  uint64_t (*start)(const char* message);
  void (*stop)(uint64_t id);
  int (*thread)(uint64_t* id);
};

struct RoctxControlTable {
  uint64_t size;
  int (*pause)(uint64_t thread);
  int (*resume)(uint64_t thread);
};
