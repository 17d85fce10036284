// SPDX-License-Identifier: MIT
#include "agent/fault_memory.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/own_memory.h"

namespace rochound::agent {
namespace {

constexpr uint64_t kFromArgument = 64 << 10;  // of what an argument points to
constexpr uint64_t kFromPointer = 4 << 10;    // of what a pointer in memory points to
constexpr uint64_t kMostBytes = 16 << 20;
constexpr size_t kMostPieces = 1024;
constexpr int kMostDepth = 4;
constexpr uint64_t kVariables = 1 << 20;

}  // namespace

FaultMemory::FaultMemory(hsa_agent_t gpu, uint64_t patience_ns) {
  if (patience_ns == 0) return;
  reader_.emplace(gpu, patience_ns);
  stopped_ = !reader_->Ready();
}

void FaultMemory::AddArguments(const std::vector<std::byte>& kernarg) {
  AddPointers(kernarg.data(), kernarg.size(), kFromArgument);
}

void FaultMemory::AddVariables(const LoadedCode& code) {
  if (code.object == nullptr) return;
  const std::vector<std::byte>& bytes = *code.object;
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const uint64_t at = header.e_phoff + uint64_t{i} * sizeof segment;
    if (at > bytes.size() || bytes.size() - at < sizeof segment) return;
    std::memcpy(&segment, bytes.data() + at, sizeof segment);
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) == 0)
      Take(segment.p_vaddr + code.delta, std::min<uint64_t>(segment.p_memsz, kVariables), 0);
  }
}

void FaultMemory::AddPointers(const std::byte* bytes, size_t size, uint64_t reach) {
  for (size_t at = 0; at + 8 <= size && leads_.size() < 4 * kMostPieces; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof word);
    if (word < 65536) continue;
    const auto after = held_.all().upper_bound(word);
    if (after == held_.all().begin()) continue;
    const auto& [base, one] = *std::prev(after);
    if (word - base >= one.size) continue;
    leads_.push_back({word, std::min(reach, base + one.size - word)});
  }
}

void FaultMemory::Take(uint64_t address, uint64_t size, int depth) {
  // What is there already is left out; a piece that only begins earlier ends before it.
  const auto after = pieces_.upper_bound(address);
  if (after != pieces_.begin()) {
    const auto& [start, bytes] = *std::prev(after);
    const uint64_t end = start + bytes.size();
    if (end > address) {
      if (end >= address + size) return;
      size -= end - address;
      address = end;
    }
  }
  if (after != pieces_.end()) size = std::min(size, after->first - address);
  if (stopped_ || size == 0 || bytes_ + size > kMostBytes || pieces_.size() == kMostPieces) return;
  std::string piece;
  if (!Read(address, size, &piece)) {
    stopped_ = reader_ && reader_->stuck();
    return;
  }
  bytes_ += size;
  const std::string& kept = pieces_[address] = std::move(piece);
  if (depth < kMostDepth)
    AddPointers(reinterpret_cast<const std::byte*>(kept.data()), kept.size(), kFromPointer);
}

bool FaultMemory::Read(uint64_t address, uint64_t size, std::string* piece) {
  if (!reader_) {
    const auto after = held_.all().upper_bound(address);
    if (after == held_.all().begin()) return false;
    const auto& [base, one] = *std::prev(after);
    piece->resize(size);
    return ReadOwnMemory(one.host_base != 0 ? one.host_base + (address - base) : address,
                         piece->data(), size);
  }
  return reader_->Read(address, size, reader_->Find(address),
                       [&](uint64_t, std::span<const std::byte> bytes) {
                         piece->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                         return true;
                       });
}

void FaultMemory::Follow() {
  for (int depth = 0; depth <= kMostDepth && !leads_.empty(); ++depth) {
    const std::vector<Lead> now = std::exchange(leads_, {});
    for (const Lead& lead : now) Take(lead.address, lead.size, depth);
  }
}

}  // namespace rochound::agent
