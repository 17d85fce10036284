// SPDX-License-Identifier: MIT
#include "store/convert/names.h"

#include <initializer_list>

namespace rochound::store {
namespace {

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// The first of these arguments that the function has.
int FindOf(const Function& function, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const int found = function.Find(name); found >= 0) return found;
  return -1;
}

}  // namespace

std::string_view OperationOfKernel(std::string_view name) {
  if (!StartsWith(name, "__amd_rocclr_")) return kKernelExecution;
  if (Has(name, "fill") || Has(name, "Fill")) return "FillBuffer";
  if (Has(name, "copy") || Has(name, "Copy")) return kCopyKernel;
  return "RuntimeKernel";
}

std::string_view CategoryOf(const Function& function) {
  struct Rule {
    std::string_view part, category;
  };
  const std::string_view name = function.name;
  if (function.domain == "hip") {
    if (Has(name, "Launch")) return "launch";
    if (Has(name, "Synchronize") || Has(name, "WaitEvent") || Has(name, "WaitValue"))
      return "synchronize";
    static constexpr Rule kStarts[] = {
        {"hipGraph", "graph"},
        {"hipStreamBeginCapture", "graph"},
        {"hipStreamEndCapture", "graph"},
        {"hipMemcpy", "copy"},
        {"hipMemset", "fill"},
        {"hipMalloc", "memory"},
        {"hipFree", "memory"},
        {"hipHost", "memory"},
        {"hipMem", "memory"},
        {"hipStream", "stream"},
        {"hipEvent", "event"},
        {"hipModule", "module"},
        {"hipDevice", "device"},
        {"hipGetDevice", "device"},
        {"hipSetDevice", "device"},
        {"hipCtx", "device"},
    };
    for (const Rule& rule : kStarts)
      if (StartsWith(name, rule.part)) return rule.category;
  }
  if (function.domain == "rccl") return "communication";
  if (function.domain == "hsa") {
    static constexpr Rule kParts[] = {
        {"_copy", "copy"},         {"_fill", "fill"},    {"signal_wait", "synchronize"},
        {"signal", "signal"},      {"queue", "queue"},   {"executable", "module"},
        {"code_object", "module"}, {"memory", "memory"}, {"agent", "device"},
    };
    for (const Rule& rule : kParts)
      if (Has(name, rule.part)) return rule.category;
  }
  return "";
}

HostWaitKind WaitOf(const Function& function) {
  if (function.domain != "hip") return HostWaitKind::kNone;
  const std::string_view name = function.name;
  if (name == "hipDeviceSynchronize" || name == "hipCtxSynchronize") return HostWaitKind::kDevice;
  // A query that says yes shows as much as waiting does.
  if (name == "hipStreamSynchronize" || name == "hipStreamQuery") return HostWaitKind::kStream;
  if (name == "hipEventSynchronize" || name == "hipEventQuery") return HostWaitKind::kEvent;
  if (name.starts_with("hipEventRecord")) return HostWaitKind::kRecord;
  return HostWaitKind::kNone;
}

CopyCall CopyCallOf(const Function& function) {
  CopyCall call;
  const std::string_view name = function.name;
  if (function.domain != "hip" || !StartsWith(name, "hipMemcpy")) return call;
  call.is_copy = true;
  call.sync = !Has(name, "Async");
  call.kind = function.Find("kind");
  if (Has(name, "HtoD") || Has(name, "HtoA")) call.fixed_kind = 1;
  if (Has(name, "DtoH") || Has(name, "AtoH")) call.fixed_kind = 2;
  if (Has(name, "DtoD") || Has(name, "Peer")) call.fixed_kind = 3;
  call.destination = FindOf(function, {"dst", "dstDevice", "dstArray", "symbol", "dstHost"});
  call.source = FindOf(function, {"src", "srcDevice", "srcArray", "symbol", "srcHost"});
  call.size = FindOf(function, {"sizeBytes", "count", "ByteCount", "size"});
  call.width = function.Find("width");
  call.height = function.Find("height");
  call.stream = FindOf(function, {"stream", "hStream"});
  call.destination_device = FindOf(function, {"dstDeviceId", "dstDeviceID"});
  call.source_device = FindOf(function, {"srcDeviceId", "srcDeviceID"});
  return call;
}

}  // namespace rochound::store
