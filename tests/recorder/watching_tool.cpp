// SPDX-License-Identifier: MIT
//
// A tool of HSA_TOOLS_LIB that watches all queues, and says at the end on stderr what it saw.
#include <cstdio>

#include "watched_queues.h"

extern "C" {

#ifdef TOOL_PRIORITY
// NOLINTNEXTLINE(readability-identifier-naming)
__attribute__((visibility("default"))) extern const uint32_t HSA_AMD_TOOL_PRIORITY = TOOL_PRIORITY;
#endif

__attribute__((visibility("default"))) bool OnLoad(void* table, uint64_t, uint64_t,
                                                   const char* const*) {
  watched_queues::Take(static_cast<HsaApiTable*>(table));
  return true;
}

__attribute__((visibility("default"))) void OnUnload() {
  fprintf(stderr, "watched %u queues, %llu dispatches\n", watched_queues::queues.load(),
          static_cast<unsigned long long>(watched_queues::dispatches.load()));
}
}
