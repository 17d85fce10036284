// SPDX-License-Identifier: MIT
//
// Where the HSA runtime enters the agent (HSA_TOOLS_LIB). The library is linked so that it is never
// unloaded: threads of the program may be in a hook when the runtime closes us.
#include <hsa/hsa_api_trace.h>

#include "agent/runtime.h"
#include "agent/session.h"

extern "C" {

// Runtimes load tools in the order of this number; there is no reason to be early. NOLINTNEXTLINE
__attribute__((visibility("default"))) extern const uint32_t HSA_AMD_TOOL_PRIORITY = 100;

// True also when we are disabled: a tool that refuses makes the runtime complain.
__attribute__((visibility("default"))) bool OnLoad(void* table, uint64_t, uint64_t,
                                                   const char* const*) {
  using namespace rochound::agent;
  Guarded("no memory at set-up", [&] {
    if (SetUp()) TakeTable(static_cast<HsaApiTable*>(table), TableFrom::kTools);
  });
  return true;
}

__attribute__((visibility("default"))) void OnUnload() { rochound::agent::RuntimeShutsDown(); }

}  // extern "C"
