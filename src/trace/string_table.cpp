// SPDX-License-Identifier: MIT
#include "trace/string_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/mutex.h"
#include "trace/mapped_file.h"

namespace rochound::trace {
namespace {

constexpr uint32_t kFirstEntries = 1024;

void StoreHead(char* place, StringHead head) {
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(place))
      .store(__builtin_bit_cast(uint64_t, head), std::memory_order_release);
}

constexpr uint64_t RoundUp(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

bool StringTable::Open(const char* path, uint64_t max_bytes) {
  const base::Lock lock(mutex_);
  path_ = path;
  max_bytes_ = std::min<uint64_t>(max_bytes, uint64_t{kMaxPieces} * kPieceBytes);
  Index* index = MakeIndex(kFirstEntries);
  if (index == nullptr || !NextPiece()) return false;
  auto* header = reinterpret_cast<StringsHeader*>(pieces_[0].load(std::memory_order_relaxed));
  header->version = kLogVersion;
  header->piece_bytes = kPieceBytes;
  std::atomic_ref<uint64_t>(header->magic).store(kStringsMagic, std::memory_order_release);
  end_ = sizeof(StringsHeader);
  index_.store(index, std::memory_order_release);
  return true;
}

uint32_t StringTable::Intern(std::string_view text) {
  text = text.substr(0, kLongestString);
  const uint32_t hash = Hash(text);
  if (const uint32_t id = Find(index_.load(std::memory_order_acquire), hash, text)) return id;

  const base::Lock lock(mutex_);
  Index* index = index_.load(std::memory_order_relaxed);
  if (const uint32_t id = Find(index, hash, text)) return id;
  if (used_ >= (index->mask + 1) / 2) {
    Index* larger = MakeIndex((index->mask + 1) * 2);
    if (larger == nullptr) return 0;
    for (uint32_t i = 0; i <= index->mask; ++i) {
      const uint64_t entry = index->entries[i].load(std::memory_order_relaxed);
      if (entry != 0) Insert(larger, entry);
    }
    larger->before = index;
    index_.store(larger, std::memory_order_release);
    index = larger;
  }
  ROCHOUND_DCHECK(used_ < (index->mask + 1) / 2);  // so that Find comes to an end
  const uint32_t id = Append(text);
  if (id == 0) return 0;
  Insert(index, uint64_t{hash} << 32 | id);
  ++used_;
  return id;
}

StringTable::Index* StringTable::MakeIndex(uint32_t entries) {
  ROCHOUND_DCHECK(entries != 0 && (entries & (entries - 1)) == 0);
  auto* index = static_cast<Index*>(MapMemory(sizeof(Index) + entries * sizeof(uint64_t)));
  if (index != nullptr) index->mask = entries - 1;
  return index;
}

uint32_t StringTable::Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325 ^ text.size();
  while (text.size() >= 8) {
    uint64_t word;
    memcpy(&word, text.data(), 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
    text.remove_prefix(8);
  }
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash *= 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>(hash >> 32);
}

std::string_view StringTable::TextOf(uint32_t id) const {
  const uint64_t offset = uint64_t{id} * 8;
  const char* entry =
      pieces_[offset / kPieceBytes].load(std::memory_order_acquire) + offset % kPieceBytes;
  StringHead head;
  memcpy(&head, entry, sizeof head);
  return {entry + sizeof head, head.bytes};
}

uint32_t StringTable::Find(const Index* index, uint32_t hash, std::string_view text) const {
  for (uint32_t slot = hash & index->mask;; slot = (slot + 1) & index->mask) {
    const uint64_t entry = index->entries[slot].load(std::memory_order_acquire);
    if (entry == 0) return 0;
    const auto id = static_cast<uint32_t>(entry);
    if (entry >> 32 == hash && TextOf(id) == text) return id;
  }
}

void StringTable::Insert(Index* index, uint64_t entry) {
  uint32_t slot = static_cast<uint32_t>(entry >> 32) & index->mask;
  while (index->entries[slot].load(std::memory_order_relaxed) != 0) slot = (slot + 1) & index->mask;
  index->entries[slot].store(entry, std::memory_order_release);
}

uint32_t StringTable::Append(std::string_view text) {
  const uint64_t bytes = RoundUp(sizeof(StringHead) + text.size());
  ROCHOUND_DCHECK(text.size() <= kLongestString && bytes <= kPieceBytes);
  ROCHOUND_DCHECK(end_ <= allocated_ && end_ % 8 == 0);
  if (allocated_ - end_ < bytes) {
    const uint64_t rest = allocated_ - end_;
    char* place = rest == 0 ? nullptr : pieces_[end_ / kPieceBytes] + end_ % kPieceBytes;
    if (!NextPiece()) return 0;
    if (place != nullptr) {
      StoreHead(place, {StringKind::kFiller, static_cast<uint32_t>(rest - sizeof(StringHead))});
    }
    end_ += rest;
  }
  ROCHOUND_DCHECK(end_ % kPieceBytes + bytes <= kPieceBytes);
  char* place = pieces_[end_ / kPieceBytes] + end_ % kPieceBytes;
  memcpy(place + sizeof(StringHead), text.data(), text.size());
  StoreHead(place, {StringKind::kString, static_cast<uint32_t>(text.size())});
  const auto id = static_cast<uint32_t>(end_ / 8);
  end_ += bytes;
  return id;
}

bool StringTable::HasRoom() {
  const base::Lock lock(mutex_);
  const uint64_t last = allocated_ / kPieceBytes;
  return last == 0 || CanWrite(pieces_[last - 1], kPieceBytes);
}

void StringTable::LeaveFile() {
  const base::Lock lock(mutex_);
  max_bytes_ = allocated_;
  for (uint64_t i = 0; i < allocated_ / kPieceBytes; ++i) MakePrivate(pieces_[i], kPieceBytes);
}

bool StringTable::NextPiece() {
  ROCHOUND_DCHECK(allocated_ % kPieceBytes == 0);
  if (allocated_ + kPieceBytes > max_bytes_) return false;
  char* piece = ExtendAndMap(path_, allocated_, kPieceBytes);
  if (piece == nullptr) return false;
  ROCHOUND_DCHECK(allocated_ / kPieceBytes < kMaxPieces);
  pieces_[allocated_ / kPieceBytes].store(piece, std::memory_order_release);
  allocated_ += kPieceBytes;
  return true;
}

}  // namespace rochound::trace
