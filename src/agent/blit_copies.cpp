// SPDX-License-Identifier: MIT
#include "agent/blit_copies.h"

#include <cstring>

#include "agent/allocations.h"
#include "trace/records.h"

namespace rochound::agent {
namespace {

// Of ROCm 6 and later. Older ones have other arguments, which the check of `end` tells.
struct LinearArguments {
  uint64_t source;
  uint64_t destination;
  uint64_t bytes;
  uint32_t remainder;
  uint32_t unit;
  uint64_t end;  // of what is copied in whole units

  bool Consistent() const {
    return bytes != 0 && remainder <= bytes && end == destination + bytes - remainder;
  }
};

}  // namespace

CopyKernel CopyKernelOf(std::string_view name, uint64_t kernarg_bytes) {
  if (name == "__amd_rocclr_copyBuffer" && kernarg_bytes >= sizeof(LinearArguments))
    return CopyKernel::kLinear;
  if (name.starts_with("__amd_rocclr_copyBufferRect") && kernarg_bytes >= sizeof(LinearArguments))
    return CopyKernel::kRectangle;
  return name.starts_with("__amd_rocclr_") ? CopyKernel::kOtherOfRuntime : CopyKernel::kNone;
}

bool CopiesTo(const hsa_kernel_dispatch_packet_t& packet, uint64_t* destination, uint64_t* bytes) {
  if (packet.kernarg_address == nullptr) return false;
  LinearArguments arguments;
  std::memcpy(&arguments, packet.kernarg_address, sizeof arguments);
  *destination = arguments.destination;
  *bytes = arguments.bytes;
  return arguments.Consistent();
}

void RecordBlitCopy(ThreadState* thread, CopyKernel kernel,
                    const hsa_kernel_dispatch_packet_t& packet, uint16_t gpu, uint64_t dispatch,
                    uint64_t now_tsc) {
  if (packet.kernarg_address == nullptr) return;
  LinearArguments arguments;
  std::memcpy(&arguments, packet.kernarg_address, sizeof arguments);
  if (kernel == CopyKernel::kLinear && !arguments.Consistent()) return;
  auto* record = thread->log->Reserve<trace::Copy>();
  if (record == nullptr) return;
  record->correlation = thread->correlation;
  record->copy = dispatch;
  record->submit_tsc = now_tsc;
  // A rectangle's size is counted in units that its arguments do not tell: the call knows it.
  record->bytes = kernel == CopyKernel::kLinear ? arguments.bytes : 0;
  record->destination = arguments.destination;
  record->source = arguments.source;
  record->width = record->height = 0;
  const uint32_t from = OwnerOf(arguments.source, gpu), to = OwnerOf(arguments.destination, gpu);
  thread->log->Commit(record, static_cast<uint16_t>(trace::CopyKind::kByKernel), from << 16 | to);
}

}  // namespace rochound::agent
