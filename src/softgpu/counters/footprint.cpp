// SPDX-License-Identifier: MIT
#include "softgpu/counters/footprint.h"

#include <bit>

namespace rochound::softgpu {
namespace {

// Lines of 1, 2 and 4 sectors that have a bit.
void AddLines(uint64_t sectors, uint64_t FootprintLines::* which, FootprintCounts* counts) {
  const uint64_t pairs = (sectors | sectors >> 1) & 0x5555555555555555u;
  const uint64_t fours = (pairs | pairs >> 2) & 0x1111111111111111u;
  (*counts)[0].*which += static_cast<unsigned>(std::popcount(sectors));
  (*counts)[1].*which += static_cast<unsigned>(std::popcount(pairs));
  (*counts)[2].*which += static_cast<unsigned>(std::popcount(fours));
}

}  // namespace

Footprint::Page& Footprint::PageAt(uint64_t number) {
  if (last_ < pages_.size() && pages_[last_].number == number) return pages_[last_];
  const auto [place, is_new] = places_.try_emplace(number, pages_.size());
  if (is_new) pages_.push_back({.number = number, .spaces = {}});
  last_ = place->second;
  return pages_[last_];
}

void Footprint::Add(const MemoryPart& part, MemoryAction action) {
  if (part.space == MemorySpace::kLds || part.bytes == 0) return;
  const uint64_t last = (part.address + part.bytes - 1) >> kSectorBits;
  for (uint64_t sector = part.address >> kSectorBits; sector <= last; ++sector) {
    Page& page = PageAt(sector >> (kPageBits - kSectorBits));
    Touched& touched = page.spaces[static_cast<unsigned>(part.space)];
    const uint64_t in_page = sector % (64 * kWords);
    const uint64_t bit = uint64_t{1} << in_page % 64;
    if (action != MemoryAction::kStore) touched.read[in_page / 64] |= bit;
    if (action != MemoryAction::kLoad) touched.written[in_page / 64] |= bit;
  }
}

void Footprint::Merge(const Footprint& other) {
  for (const Page& theirs : other.pages_) {
    Page& page = PageAt(theirs.number);
    for (unsigned space = 0; space < kMemorySpaces; ++space) {
      for (unsigned word = 0; word < kWords; ++word) {
        page.spaces[space].read[word] |= theirs.spaces[space].read[word];
        page.spaces[space].written[word] |= theirs.spaces[space].written[word];
      }
    }
  }
}

FootprintSums Footprint::Count() const {
  FootprintSums sums{};
  for (const Page& page : pages_) {
    for (unsigned word = 0; word < kWords; ++word) {
      uint64_t all_read = 0;
      uint64_t all_written = 0;
      for (unsigned space = 0; space < kMemorySpaces; ++space) {
        const uint64_t read = page.spaces[space].read[word];
        const uint64_t written = page.spaces[space].written[word];
        AddLines(read, &FootprintLines::read, &sums[space]);
        AddLines(written, &FootprintLines::written, &sums[space]);
        AddLines(read | written, &FootprintLines::touched, &sums[space]);
        all_read |= read;
        all_written |= written;
      }
      AddLines(all_read, &FootprintLines::read, &sums[kMemorySpaces]);
      AddLines(all_written, &FootprintLines::written, &sums[kMemorySpaces]);
      AddLines(all_read | all_written, &FootprintLines::touched, &sums[kMemorySpaces]);
    }
  }
  return sums;
}

void Footprint::Clear() {
  pages_.clear();
  pages_.shrink_to_fit();
  places_.clear();
  last_ = 0;
}

}  // namespace rochound::softgpu
