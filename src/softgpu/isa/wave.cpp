// SPDX-License-Identifier: MIT
#include "softgpu/isa/wave.h"

#include <utility>

namespace rochound::softgpu {

const Op* Wave::StopFault(const Op* op, uint64_t address, uint8_t access) {
  const Region* region = memory->Find(address);
  fault.address = address;
  fault.access = access;
  fault.mapped = region != nullptr;
  return Stop(StopReason::kMemoryFault, op);
}

const Op* Wave::StopIllegal(const Op* op, std::string detail) {
  fault.detail = std::move(detail);
  return Stop(StopReason::kIllegalInstruction, op);
}

uint64_t RunWave(Wave& wave, uint64_t budget) {
  const Op* op = wave.next;
  wave.stop = StopReason::kNone;
  uint64_t left = budget;
  while (left != 0) {
    --left;
    op = op->exec(wave, op);
    if (op == nullptr) return budget - left;
  }
  wave.next = op;
  return budget;
}

}  // namespace rochound::softgpu
