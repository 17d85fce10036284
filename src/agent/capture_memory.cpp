// SPDX-License-Identifier: MIT
#include "agent/capture_memory.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "agent/runtime.h"

namespace rochound::agent {
namespace {

constexpr uint64_t kPage = 4096;

std::string Hex(uint64_t number) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

std::string Mib(uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

CaptureMemory::CaptureMemory(const HeldAllocations& held, const LoadedCode& code, uint64_t kernarg,
                             uint64_t kernarg_bytes, const std::string& disk, MemoryReader* reader)
    : reader_(*reader), reservations_(held.reservations()), kernarg_address_(kernarg), disk_(disk) {
  for (const auto& [base, one] : held.all()) {
    const std::optional<MemoryReader::Place> place = reader->FindAllocation(base, one);
    if (!place) continue;
    Add(base, one.size, one.kind == MemoryKind::kPool && place->host ? "host" : KindName(one.kind),
        *place, one.host_base);
  }
  Add(code.base, code.size, "code_object", reader->Find(code.base));
  image_ = code.base;
  // Variables of other code objects can be reached by pointers.
  for (const auto& [base, size] : LoadedImages()) {
    if (base != code.base && size != 0) Add(base, size, "code_object", reader->Find(base));
  }
  if (ReadKernarg(kernarg, kernarg_bytes)) SplitOutKernarg(kernarg, kernarg_bytes);
}

// Keeps the list sorted and disjoint: what overlaps (memory that was locked twice) is cut.
void CaptureMemory::Add(uint64_t base, uint64_t size, const char* kind, MemoryReader::Place place,
                        uint64_t host_base) {
  auto at = std::upper_bound(
      regions_.begin(), regions_.end(), base,
      [](uint64_t left, const capture::Region& right) { return left < right.base; });
  uint64_t start = base;
  uint64_t end = base + size;
  if (at != regions_.begin()) start = std::max(base, std::prev(at)->base + std::prev(at)->size);
  if (at != regions_.end()) end = std::min(end, at->base);
  if (start >= end) return;
  place.host_base += start - base;
  capture::Region region;
  region.base = start;
  region.size = end - start;
  region.kind = kind;
  region.host_base = host_base != 0 ? host_base + (start - base) : 0;
  const uint16_t owner = AgentIndex(place.owner);
  region.owner = place.known && owner < AgentCount() ? owner : -1;
  const auto index = at - regions_.begin();
  regions_.insert(at, region);
  places_.insert(places_.begin() + index, place);
}

MemoryReader::Place CaptureMemory::PlaceAt(uint64_t address) const {
  for (size_t i = 0; i < regions_.size(); ++i) {
    const uint64_t offset = address - regions_[i].base;
    if (offset >= regions_[i].size) continue;
    MemoryReader::Place place = places_[i];
    place.host_base += offset;
    return place;
  }
  MemoryReader::Place place = reader_.Find(address);
  // Memory of the program's own, that the GPU sees as the program does.
  if (!place.known) place = {.host = true, .host_base = address};
  return place;
}

bool CaptureMemory::ReadKernarg(uint64_t address, uint64_t size) {
  if (size == 0) return false;
  const bool read = reader_.Read(address, size, PlaceAt(address),
                                 [&](uint64_t, std::span<const std::byte> bytes) {
                                   kernarg_.insert(kernarg_.end(), bytes.begin(), bytes.end());
                                   return true;
                                 });
  if (!read) problem_ = "the kernel's arguments could not be read";
  return read;
}

// Arguments are in a buffer with those of many other launches. Only their own pages belong to
// this one.
void CaptureMemory::SplitOutKernarg(uint64_t address, uint64_t size) {
  uint64_t start = address & ~(kPage - 1);
  uint64_t end = (address + size + kPage - 1) & ~(kPage - 1);
  const auto whole = std::find_if(
      regions_.begin(), regions_.end(),
      [&](const capture::Region& region) { return address - region.base < region.size; });
  if (whole == regions_.end()) return Add(start, end - start, "kernarg", PlaceAt(start));
  const capture::Region region = std::move(*whole);
  const auto index = whole - regions_.begin();
  const MemoryReader::Place place = places_[static_cast<size_t>(index)];
  regions_.erase(whole);
  places_.erase(places_.begin() + index);
  const uint64_t region_end = region.base + region.size;
  start = std::max(start, region.base);
  end = std::min(end, region_end);
  const auto add = [&](uint64_t from, uint64_t to, const char* kind) {
    MemoryReader::Place part = place;
    part.host_base += from - region.base;
    const uint64_t host_base = region.host_base != 0 ? region.host_base + (from - region.base) : 0;
    if (from < to) Add(from, to - from, kind, part, host_base);
  };
  add(region.base, start, region.kind.c_str());
  add(start, end, "kernarg");
  add(end, region_end, region.kind.c_str());
}

void CaptureMemory::Follow(std::span<const std::byte> bytes, uint64_t address,
                           const std::string& from, uint64_t from_base) {
  if (regions_.empty()) return;
  const uint64_t lowest = regions_.front().base;
  const uint64_t span = regions_.back().base + regions_.back().size - lowest;
  for (size_t at = (8 - address % 8) % 8; at + 8 <= bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if (word - lowest >= span) continue;
    const auto after = std::upper_bound(
        regions_.begin(), regions_.end(), word,
        [](uint64_t left, const capture::Region& right) { return left < right.base; });
    const auto index = static_cast<size_t>(after - regions_.begin()) - 1;
    const capture::Region& region = regions_[index];
    // One past the end counts as well: some kernels go backwards from there.
    if (word - region.base > region.size || region.taken) continue;
    Reach(index, from + "+" + Hex(address + at - from_base));
  }
}

void CaptureMemory::Reach(size_t index, const std::string& from) {
  const auto take = [&](size_t i) {
    if (regions_[i].taken) return;
    regions_[i].taken = true;
    regions_[i].reached_by = from;
    queue_.push_back(i);
  };
  take(index);
  const auto after = reservations_.upper_bound(regions_[index].base);
  if (after == reservations_.begin()) return;
  const auto& [base, size] = *std::prev(after);
  for (size_t i = 0; i < regions_.size(); ++i)
    if (regions_[index].base - base < size && regions_[i].base - base < size) take(i);
}

bool CaptureMemory::RoomFor(uint64_t bytes) {
  struct statvfs disk{};
  if (statvfs(disk_.c_str(), &disk) != 0) return true;  // the writes will tell
  const uint64_t free = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  constexpr uint64_t kMargin = 64 << 20;
  if (free >= bytes + bytes / 16 + kMargin) return true;
  problem_ = "there is no room for the bundle: " + Mib(bytes) + " more are needed and " +
             Mib(free) + " are free. Choose another disk with -o";
  return false;
}

bool CaptureMemory::Read(size_t index, const MemoryReader::Take& take) {
  const capture::Region& region = regions_[index];
  if (reader_.Read(region.base, region.size, places_[index], take)) return true;
  if (problem_.empty())
    problem_ = "memory at " + Hex(region.base) + " (" + region.kind + ", " +
               std::to_string(region.size) + " bytes) could not be read";
  return false;
}

bool CaptureMemory::Store(capture::Phase phase, size_t index, capture::BundleWriter* writer) {
  return Read(index, [&](uint64_t offset, std::span<const std::byte> bytes) {
    if (writer->AddRegionBytes(phase, static_cast<uint32_t>(index), offset, bytes)) return true;
    problem_ = writer->error();
    return false;
  });
}

bool CaptureMemory::Choose(bool all) {
  queue_.clear();
  for (size_t i = 0; i < regions_.size(); ++i) {
    capture::Region& region = regions_[i];
    const bool always = region.base == image_ || region.kind == "kernarg";
    region.taken = all || always;
    region.reached_by = always ? "launch" : all ? "all" : "";
    // The arguments' pages hold those of other launches, too, which lead elsewhere.
    if (region.taken && region.kind != "kernarg") queue_.push_back(i);
  }
  if (all) return true;
  Follow(kernarg_, kernarg_address_, "kernarg", kernarg_address_);
  for (size_t next = 0; next < queue_.size(); ++next) {
    const size_t index = queue_[next];
    const std::string from = "region " + std::to_string(index);
    const uint64_t base = regions_[index].base;
    if (!Read(index, [&](uint64_t offset, std::span<const std::byte> bytes) {
          Follow(bytes, base + offset, from, base);
          return true;
        }))
      return false;
  }
  return true;
}

bool CaptureMemory::TakeBefore(bool all, capture::BundleWriter* writer) {
  if (!problem_.empty() || !Choose(all)) return false;
  uint64_t total = 0;
  for (const capture::Region& region : regions_) total += region.taken ? region.size : 0;
  if (!RoomFor(total)) return false;
  for (size_t i = 0; i < regions_.size(); ++i)
    if (regions_[i].taken && !Store(capture::Phase::kBefore, i, writer)) return false;
  return true;
}

bool CaptureMemory::TakeAfter(capture::BundleWriter* writer) {
  // Not the arguments' pages: whoever launches next writes into them.
  for (size_t i = 0; i < regions_.size(); ++i)
    if (regions_[i].taken && regions_[i].kind != "kernarg" &&
        !Store(capture::Phase::kAfter, i, writer))
      return false;
  return true;
}

}  // namespace rochound::agent
