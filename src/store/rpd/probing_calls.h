// SPDX-License-Identifier: MIT
//
// Calls by which libraries find something out, and that fail in healthy programs, too: rocBLAS asks
// code objects for kernels that they need not have.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace rochound::store {

inline bool IsProbingCall(std::string_view name) {
  constexpr std::string_view kCalls[] = {
      "hipPointerGetAttributes",    "hipPointerGetAttribute",  "hipDrvPointerGetAttributes",
      "hipMemGetAddressRange",      "hipHostGetDevicePointer", "hipHostGetFlags",
      "hipDeviceCanAccessPeer",     "hipDeviceGetAttribute",   "hipDeviceGetPCIBusId",
      "hipGetSymbolAddress",        "hipModuleGetFunction",    "hipModuleGetGlobal",
      "hipFuncGetAttributes",       "hipGetProcAddress",       "hipCtxGetCurrent",
      "hipDevicePrimaryCtxGetState"};
  return std::find(std::begin(kCalls), std::end(kCalls), name) != std::end(kCalls);
}

}  // namespace rochound::store
