// SPDX-License-Identifier: MIT
#include "agent/blit_copies.h"

#include <bit>
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

bool CopiesTo(const hsa_kernel_dispatch_packet_t& packet, BlitCopy* copy) {
  if (packet.kernarg_address == nullptr) return false;
  LinearArguments arguments;
  std::memcpy(&arguments, packet.kernarg_address, sizeof arguments);
  *copy = {arguments.source, arguments.destination, arguments.bytes};
  return arguments.Consistent();
}

// Where it fills, the address of the pattern, two sizes of 32 bits, and the end of what it fills.
// Older runtimes have one place for each size of an element, of which one is used.
bool FillsBytes(std::span<const uint64_t> arguments, uint64_t* destination, uint64_t* bytes) {
  const auto is_size = [](uint64_t size) { return std::has_single_bit(size) && size <= 16; };
  *destination = 0;
  for (size_t i = 0; i + 2 < arguments.size() && i < 6; ++i) {
    const uint64_t next = arguments[i + 1];
    if (*destination != 0 && is_size(next & 0xffffffff) && is_size(next >> 32)) {
      *bytes = arguments[i + 2] - *destination;
      return arguments[i + 2] > *destination && *bytes < uint64_t{1} << 48;
    }
    if (arguments[i] != 0) {
      if (*destination != 0) return false;
      *destination = arguments[i];
    }
  }
  return false;
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
