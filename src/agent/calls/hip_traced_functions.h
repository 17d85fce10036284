// SPDX-License-Identifier: MIT
//
// What our headers know of each function that HIP reports to a tracer: its name, and how to pack
// its arguments out of hip_api_data_t. Constant data.
#pragma once

#include <chrono>
// After that one: headers of HIP 6 define __noinline__, with which <chrono> does not compile.
#include <hip/hip_runtime_api.h>
// Needs the one above: in older releases it includes nothing.
#include <hip/amd_detail/hip_prof_str.h>

#include <cstddef>
#include <cstdint>

#include "agent/calls/call.h"
#include "agent/calls/values.h"

namespace rochound::agent {

struct TracedFunction {
  const char* name = nullptr;  // null: no function has this number
  const char* arguments = "";  // names, separated by commas
  const TypeName* types = nullptr;
  size_t count = 0;
  size_t words = 0;
  void (*put)(const hip_api_data_t& data, uint64_t* words, bool good) = nullptr;
  void (*texts)(const hip_api_data_t& data, const Call& call) = nullptr;
};

inline constexpr uint32_t kLastTracedId = HIP_API_ID_LAST;
inline constexpr size_t kMaxTracedWords = 64;

// 1 to kLastTracedId.
const TracedFunction& Traced(uint32_t id);

}  // namespace rochound::agent
