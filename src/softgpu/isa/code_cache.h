// SPDX-License-Identifier: MIT
//
// Decoded code of one device and wave size. Instructions are decoded when a wave first reaches
// them, in straight runs that end after an unconditional jump. Shared by all threads that run
// waves; an Op once handed out stays valid as long as the cache. What cannot be run (no
// instruction, not implemented, not mapped) becomes an Op that stops the wave with the reason, so
// it matters only if it is reached.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "softgpu/isa/disassembler.h"
#include "softgpu/isa/lower.h"
#include "softgpu/isa/wave.h"

namespace rochound::softgpu {

class CodeCache {
 public:
  // nullptr if LLVM does not know the target.
  static std::unique_ptr<CodeCache> Create(const Architecture& architecture, unsigned wave_size);

  const Op* At(AddressSpace::Reader& memory, uint64_t address);

  // True if memory still holds the code that was decoded. Asked when the program has told the GPU
  // to drop its instruction cache.
  bool Matches(AddressSpace::Reader& memory) const;

 private:
  struct Block {
    uint64_t address = 0;
    std::vector<uint8_t> bytes;
    bool ends_unmapped = false;  // no code was mapped after `bytes`
    std::vector<std::unique_ptr<AsmInstruction>> instructions;
    std::unique_ptr<Op[]> ops;
  };

  CodeCache(const Architecture& architecture, std::unique_ptr<Disassembler> disassembler)
      : architecture_(architecture), disassembler_(std::move(disassembler)) {}

  const Op* DecodeBlock(AddressSpace::Reader& memory, uint64_t address) ROCHOUND_REQUIRES(mutex_);

  const Architecture& architecture_;
  std::unique_ptr<Disassembler> disassembler_;
  mutable base::SharedMutex mutex_;
  std::unordered_map<uint64_t, const Op*> ops_ ROCHOUND_GUARDED_BY(mutex_);
  std::vector<Block> blocks_ ROCHOUND_GUARDED_BY(mutex_);
  ConstantRows constants_ ROCHOUND_GUARDED_BY(mutex_);
};

// For indirect jumps: the op at `address`, to be returned from an Exec.
const Op* JumpTo(Wave& wave, const Op* op, uint64_t address);

// For direct branches: the op at op->target_address, remembered after the first time.
inline const Op* TakeBranch(Wave& wave, const Op* op) {
  const Op* target = op->target.load(std::memory_order_acquire);
  if (target != nullptr) [[likely]]
    return target;
  target = JumpTo(wave, op, op->target_address);
  op->target.store(target, std::memory_order_release);
  return target;
}

}  // namespace rochound::softgpu
