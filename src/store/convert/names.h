// SPDX-License-Identifier: MIT
//
// What names tell: which kernels are the runtime's own, what kind of
// work a call does, and where a copy call keeps its parts. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/convert/functions.h"

namespace rochound::store {

inline bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What RPD calls the operation: KernelExecution, or what a kernel of the runtime itself does for
// it.
inline constexpr std::string_view kKernelExecution = "KernelExecution";
inline constexpr std::string_view kCopyKernel = "CopyDeviceToDevice";  // until more is known of it
std::string_view OperationOfKernel(std::string_view name);

// launch, copy, fill, synchronize, memory, stream, event, graph, module, device, queue, signal; or
// nothing.
std::string_view CategoryOf(const Function& function);

// What a call that returned with success has waited for.
enum class HostWaitKind : uint8_t {
  kNone,
  kDevice,
  kStream,
  kEvent,
  kRecord,  // nothing; it says what an event stands for
};
HostWaitKind WaitOf(const Function& function);

// Where the arguments of hipMemcpy and its relatives are; -1: it has no such argument.
struct CopyCall {
  bool is_copy = false;
  bool sync = false;
  int kind = -1;       // argument
  int fixed_kind = 4;  // hipMemcpyKind when there is no argument: what the name says, or default
  int destination = -1, source = -1, size = -1, width = -1, height = -1, stream = -1;
  int destination_device = -1, source_device = -1;
};
CopyCall CopyCallOf(const Function& function);

}  // namespace rochound::store
