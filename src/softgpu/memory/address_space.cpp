// SPDX-License-Identifier: MIT
#include "softgpu/memory/address_space.h"

#include <algorithm>
#include <iterator>
#include <thread>

#include "base/check.h"
#include "base/mutex.h"

namespace rochound::softgpu {
namespace {

// Appends the parts of `region` that lie outside of [begin, end).
void KeepOutside(const Region& region, uint64_t begin, uint64_t end, std::vector<Region>* out) {
  if (region.begin < begin) {
    out->push_back({region.begin, std::min(region.end, begin), region.host, region.access});
  }
  if (region.end > end) {
    uint64_t from = std::max(region.begin, end);
    out->push_back({from, region.end, region.host + (from - region.begin), region.access});
  }
}

}  // namespace

AddressSpace::AddressSpace() : table_(std::make_shared<Table>()) {}
AddressSpace::~AddressSpace() = default;

std::shared_ptr<AddressSpace::Table> AddressSpace::TableWithout(uint64_t begin,
                                                                uint64_t end) const {
  auto table = std::make_shared<Table>();
  table->code_changes = table_->code_changes;
  table->regions.reserve(table_->regions.size() + 2);
  for (const Region& region : table_->regions) {
    if (region.end <= begin || region.begin >= end) {
      table->regions.push_back(region);
    } else {
      if (region.access & kExecute) ++table->code_changes;
      KeepOutside(region, begin, end, &table->regions);
    }
  }
  return table;
}

void AddressSpace::Map(uint64_t address, uint64_t size, uint8_t* host, uint8_t access) {
  ROCHOUND_DCHECK(address % kGpuPageSize == 0 && size % kGpuPageSize == 0 && size != 0);
  ROCHOUND_DCHECK(host != nullptr && address + size > address);
  const base::Lock lock(mutex_);
  std::shared_ptr<Table> table = TableWithout(address, address + size);
  if (access & kExecute) ++table->code_changes;
  Region added{address, address + size, host, access};
  auto place = std::lower_bound(table->regions.begin(), table->regions.end(), added,
                                [](const Region& a, const Region& b) { return a.begin < b.begin; });
  ROCHOUND_DCHECK(place == table->regions.begin() || std::prev(place)->end <= added.begin);
  ROCHOUND_DCHECK(place == table->regions.end() || place->begin >= added.end);
  table->regions.insert(place, added);
  Publish(std::move(table));
}

void AddressSpace::Unmap(uint64_t address, uint64_t size) {
  uint64_t generation;
  {
    const base::Lock lock(mutex_);
    Publish(TableWithout(address, address + size));
    generation = generation_.load(std::memory_order_relaxed);
  }
  // Wait until every entered Reader has seen the new table. Readers refresh every few thousand
  // instructions, so this is short. The lock is dropped in between: readers come and go.
  for (;;) {
    bool all_seen = true;
    {
      const base::Lock lock(mutex_);
      for (Reader* reader : readers_) {
        uint64_t seen = reader->seen_.load(std::memory_order_acquire);
        all_seen = all_seen && (seen == Reader::kOutside || seen >= generation);
      }
    }
    if (all_seen) return;
    std::this_thread::yield();
  }
}

void AddressSpace::Publish(std::shared_ptr<const Table> table) {
  table_ = std::move(table);
  generation_.fetch_add(1, std::memory_order_release);
}

std::vector<Region> AddressSpace::Snapshot() const {
  const base::Lock lock(mutex_);
  return table_->regions;
}

AddressSpace::Reader::Reader(AddressSpace& space) : space_(space) {
  const base::Lock lock(space_.mutex_);
  space_.readers_.push_back(this);
}

AddressSpace::Reader::~Reader() {
  const base::Lock lock(space_.mutex_);
  const size_t erased = std::erase(space_.readers_, this);
  ROCHOUND_DCHECK(erased == 1);
}

void AddressSpace::Reader::Enter() { Reload(); }

void AddressSpace::Reader::Leave() {
  last_ = &empty_;
  seen_.store(kOutside, std::memory_order_release);
}

void AddressSpace::Reader::Reload() {
  const base::Lock lock(space_.mutex_);
  table_ = space_.table_;
  last_ = &empty_;
  seen_.store(space_.generation_.load(std::memory_order_relaxed), std::memory_order_release);
}

const Region* AddressSpace::Reader::FindSlow(uint64_t address) {
  const std::vector<Region>& regions = table_->regions;
  auto after = std::upper_bound(regions.begin(), regions.end(), address,
                                [](uint64_t a, const Region& region) { return a < region.begin; });
  if (after == regions.begin()) return nullptr;
  const Region& region = *(after - 1);
  if (address >= region.end) return nullptr;
  last_ = &region;
  return last_;
}

std::optional<uint64_t> AddressSpace::Reader::GpuAddressOf(const void* host) const {
  const auto place = reinterpret_cast<uintptr_t>(host);
  for (const Region& region : table_->regions) {
    const uintptr_t offset = place - reinterpret_cast<uintptr_t>(region.host);
    if (offset < region.end - region.begin) return region.begin + offset;
  }
  return std::nullopt;
}

}  // namespace rochound::softgpu
