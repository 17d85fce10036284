// SPDX-License-Identifier: MIT
#include "agent/fault_memory.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
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

// The allocation that an address is in; null: none.
const Allocations::value_type* Containing(const HeldAllocations& held, uint64_t address) {
  const auto after = held.all().upper_bound(address);
  if (after == held.all().begin()) return nullptr;
  const auto& found = *std::prev(after);
  return address - found.first < found.second.size ? &found : nullptr;
}

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
  const HeldAllocations held;
  for (size_t at = 0; at + 8 <= size && leads_.size() < 4 * kMostPieces; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof word);
    if (word < 65536) continue;
    const auto* const found = Containing(held, word);
    if (found == nullptr) continue;
    leads_.push_back({word, std::min(reach, found->first + found->second.size - word)});
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

std::optional<MemoryReader::Place> FaultMemory::Find(const HeldAllocations& held, uint64_t address,
                                                     uint64_t size) const {
  const auto* const found = Containing(held, address);
  if (found == nullptr) {  // of a code object
    if (!reader_) return MemoryReader::Place{.host = true, .host_base = address};
    const MemoryReader::Place place = reader_->Find(address);
    return place.known && size <= place.bytes ? std::optional(place) : std::nullopt;
  }
  const auto& [base, one] = *found;
  const uint64_t offset = address - base;
  if (one.size - offset < size) return std::nullopt;  // another one than when the pointer was seen
  if (!reader_)
    return MemoryReader::Place{.host = true,
                               .host_base = (one.host_base != 0 ? one.host_base : base) + offset};
  std::optional<MemoryReader::Place> place = reader_->FindAllocation(base, one);
  if (place) place->host_base += offset;
  return place;
}

bool FaultMemory::Read(uint64_t address, uint64_t size, std::string* piece) {
  std::optional<MemoryReader::Place> place;
  {
    const HeldCode held_code;
    const HeldAllocations held;
    place = Find(held, address, size);
    if (!place) return false;
    // Nothing may go away under the GPU's hands: who allocates or frees waits for this copy, which
    // is short or is given up.
    if (!place->host && reader_)
      return reader_->Read(address, size, *place, [&](uint64_t, std::span<const std::byte> bytes) {
        piece->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return true;
      });
  }
  // What the host reads may go away: then it is not read.
  piece->resize(size);
  return ReadOwnMemory(place->host_base, piece->data(), size);
}

void FaultMemory::Follow() {
  for (int depth = 0; depth <= kMostDepth && !leads_.empty(); ++depth) {
    const std::vector<Lead> now = std::exchange(leads_, {});
    for (const Lead& lead : now) Take(lead.address, lead.size, depth);
  }
}

}  // namespace rochound::agent
