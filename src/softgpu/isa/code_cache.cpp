// SPDX-License-Identifier: MIT
#include "softgpu/isa/code_cache.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/mutex.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

constexpr size_t kMaxBlockInstructions = 256;
constexpr size_t kMaxInstructionBytes = sizeof(AsmInstruction::words);

const Op* ExecIllegal(Wave& wave, const Op* op) { return wave.StopIllegal(op, op->source->text); }

const Op* ExecFetchFault(Wave& wave, const Op* op) {
  return wave.StopFault(op, op->address(), kExecute);
}

// Falls through into the next block; not an instruction of its own.
const Op* ExecContinue(Wave& wave, const Op* op) {
  const Op* next = TakeBranch(wave, op);
  return next->exec(wave, next);
}

constexpr Row kIllegalRow = {.mnemonic = "(illegal)", .exec = &ExecIllegal};

// Up to `size` bytes of code from `address` on, as far as they are mapped for execution.
size_t FetchCode(AddressSpace::Reader& memory, uint64_t address, uint8_t* bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    const Region* region = memory.Find(address + done);
    if (region == nullptr || !(region->access & kExecute)) break;
    size_t part = std::min<uint64_t>(size - done, region->end - (address + done));
    std::memcpy(bytes + done, region->HostAddress(address + done), part);
    done += part;
  }
  return done;
}

}  // namespace

std::unique_ptr<CodeCache> CodeCache::Create(const Architecture& architecture, unsigned wave_size) {
  auto disassembler = Disassembler::Create(std::string(architecture.target), wave_size);
  if (disassembler == nullptr) return nullptr;
  return std::unique_ptr<CodeCache>(new CodeCache(architecture, std::move(disassembler)));
}

const Op* CodeCache::At(AddressSpace::Reader& memory, uint64_t address) {
  {
    const base::SharedLock lock(mutex_);
    auto it = ops_.find(address);
    if (it != ops_.end()) return it->second;
  }
  base::UniqueLock lock(mutex_);
  auto it = ops_.find(address);
  return it != ops_.end() ? it->second : DecodeBlock(memory, address);
}

const Op* CodeCache::DecodeBlock(AddressSpace::Reader& memory, uint64_t address) {
  struct Pending {
    std::unique_ptr<AsmInstruction> instruction;
    Exec stop_exec = nullptr;  // set if it cannot run
  };
  Block block;
  block.address = address;
  std::vector<Pending> pending;
  uint64_t pc = address;
  bool open = true;  // the last instruction may fall through
  while (open && pending.size() < kMaxBlockInstructions && !ops_.contains(pc)) {
    Pending next;
    uint8_t bytes[kMaxInstructionBytes];
    size_t available = pc % 4 == 0 ? FetchCode(memory, pc, bytes, sizeof(bytes)) : 0;
    std::string why = pc % 4 == 0 ? "(no code)" : "misaligned program counter";
    if (available >= 4) {
      auto decoded = disassembler_->Decode(std::span(bytes, available), pc, &why);
      if (decoded) next.instruction = std::make_unique<AsmInstruction>(std::move(*decoded));
    }
    if (next.instruction == nullptr) {
      next.instruction = std::make_unique<AsmInstruction>();
      next.instruction->address = pc;
      next.instruction->size = 4;
      if (available >= 4) std::memcpy(next.instruction->words, bytes, 4);
      next.instruction->text = why;
      block.ends_unmapped = available < 4 && pc % 4 == 0;
      if (!block.ends_unmapped) block.bytes.insert(block.bytes.end(), bytes, bytes + available);
      next.stop_exec = block.ends_unmapped ? &ExecFetchFault : &ExecIllegal;
      open = false;
    } else {
      block.bytes.insert(block.bytes.end(), bytes, bytes + next.instruction->size);
      const Row* row = FindRow(architecture_, next.instruction->mnemonic);
      if (row == nullptr || (row->flags & kEndsBlock)) open = false;
      pc += next.instruction->size;
    }
    pending.push_back(std::move(next));
  }
  size_t count = pending.size();
  block.ops = std::make_unique<Op[]>(count + 1);
  for (size_t i = 0; i < count; ++i) {
    Op& op = block.ops[i];
    AsmInstruction& instruction = *pending[i].instruction;
    std::string why;
    if (pending[i].stop_exec != nullptr) {
      op.exec = pending[i].stop_exec;
    } else if (!LowerInstruction(instruction, architecture_, &constants_, &op, &why)) {
      instruction.text = why + " (" + instruction.text + ")";
      op.exec = &ExecIllegal;
    }
    op.source = &instruction;
    if (op.exec == &ExecIllegal || op.exec == &ExecFetchFault) op.row = &kIllegalRow;
    ops_.emplace(instruction.address, &op);
    block.instructions.push_back(std::move(pending[i].instruction));
  }
  Op& last = block.ops[count];
  auto continuation = std::make_unique<AsmInstruction>();
  continuation->address = pc;
  last.row = &kIllegalRow;
  last.exec = &ExecContinue;
  last.target_address = pc;
  last.source = continuation.get();
  block.instructions.push_back(std::move(continuation));
  const Op* first = block.ops.get();
  blocks_.push_back(std::move(block));
  return first;
}

bool CodeCache::Matches(AddressSpace::Reader& memory) const {
  const base::SharedLock lock(mutex_);
  std::vector<uint8_t> now;
  for (const Block& block : blocks_) {
    const size_t size = block.bytes.size();
    now.resize(size + 4);
    const size_t fetched = FetchCode(memory, block.address, now.data(), now.size());
    if (fetched < size || (block.ends_unmapped && fetched == now.size()) ||
        std::memcmp(now.data(), block.bytes.data(), size) != 0)
      return false;
  }
  return true;
}

const Op* JumpTo(Wave& wave, const Op* /*op*/, uint64_t address) {
  return wave.code->At(*wave.memory, address);
}

}  // namespace rochound::softgpu
