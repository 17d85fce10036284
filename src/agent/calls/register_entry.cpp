// SPDX-License-Identifier: MIT
//
// Where rocprofiler-register enters the agent (ROCPROFILER_REGISTER_LIBRARY): once per library that
// hands over its tables, on the thread that first uses the library, before any call gets through.
// May come in a library's constructor, with the dynamic linker's lock held.
#include <cstdint>
#include <string_view>

#include "agent/calls/hip_calls.h"
#include "agent/calls/rccl_calls.h"
#include "agent/calls/registered.h"
#include "agent/calls/roctx.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/state.h"

extern "C" __attribute__((visibility("default"))) int rocprofiler_set_api_table(
    const char* name, uint64_t version, uint64_t /*instance*/, void** tables, uint64_t count) {
  using namespace rochound::agent;
  if (name == nullptr || tables == nullptr || count == 0 || tables[0] == nullptr) return 0;
  SetRegistered();
  // Zero also when we are disabled: a tool that refuses makes the library complain.
  Guarded("no memory at set-up", [&] {
    if (!SetUp()) return;
    const std::string_view library(name);
    if (library == "hsa") {
      TakeTable(static_cast<HsaApiTable*>(tables[0]), TableFrom::kRegister);
    } else if (library == "hip" && settings().hip) {
      TakeHipTable(HipTable::kRuntime, version, tables[0]);
    } else if (library == "hip_compiler" && settings().hip) {
      TakeHipTable(HipTable::kCompiler, version, tables[0]);
    } else if (library == "rccl" && settings().hip) {
      TakeRcclTable(tables[0]);
    } else if (library == "roctx" && settings().roctx) {
      TakeRoctxTable(tables[0]);
      if (count > 1 && tables[1] != nullptr) TakeRoctxControlTable(tables[1]);
    }
  });
  return 0;
}
