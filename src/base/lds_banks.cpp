// SPDX-License-Identifier: MIT
#include "base/lds_banks.h"

#include <algorithm>
#include <array>

namespace rochound::base {
namespace {

constexpr unsigned kMaxBanks = 64;
constexpr unsigned kMaxGroups = 16;
constexpr unsigned kMaxLanes = 64;

struct Shape {
  unsigned banks;
  unsigned lanes_per_group;
  const uint8_t* crosswise;  // group of each four lanes among 32; nullptr: neighbours
};

// Of the eight fours of lanes in a half wave, which go together.
constexpr uint8_t kPairsOfFours[8] = {0, 1, 2, 3, 1, 0, 3, 2};
constexpr uint8_t kFourFours[8] = {0, 1, 1, 0, 1, 0, 0, 1};

Shape ShapeOf(LdsGrouping grouping, LdsAction action, unsigned bytes) {
  const bool reads = action == LdsAction::kLoad;
  const bool wide = bytes > 8;
  const bool twice = grouping == LdsGrouping::kCdna4 && reads && bytes != 12;
  Shape shape{twice ? 64u : 32u, 32, nullptr};
  const unsigned dwords = bytes <= 4 ? 1 : bytes <= 8 ? 2 : 4;
  shape.lanes_per_group = std::min(32u, shape.banks / dwords);
  if (reads && wide && grouping != LdsGrouping::kConsecutive)
    shape.crosswise = twice ? kFourFours : kPairsOfFours;
  return shape;
}

unsigned GroupOf(const Shape& shape, unsigned lane) {
  const unsigned groups_per_half = 32 / shape.lanes_per_group;
  if (shape.crosswise == nullptr) return lane / shape.lanes_per_group;
  return lane / 32 * groups_per_half + shape.crosswise[lane % 32 / 4];
}

// The dwords that one group of lanes wants, with repetitions.
struct Wanted {
  std::array<uint32_t, 32 * 5> dwords;
  unsigned count = 0;
};

LdsCost CostOf(Wanted& wanted, unsigned banks, bool atomic) {
  std::array<uint16_t, kMaxBanks> distinct{};
  std::array<uint16_t, kMaxBanks> all{};
  auto first = wanted.dwords.begin();
  auto last = first + wanted.count;
  if (!std::is_sorted(first, last)) std::sort(first, last);
  for (unsigned i = 0; i < wanted.count; ++i) {
    const uint32_t dword = wanted.dwords[i];
    ++all[dword % banks];
    if (i == 0 || dword != wanted.dwords[i - 1]) ++distinct[dword % banks];
  }
  const unsigned rounds = *std::max_element(distinct.begin(), distinct.end());
  const unsigned with_repeats = *std::max_element(all.begin(), all.end());
  LdsCost cost;
  cost.bank_conflicts = rounds - 1;
  cost.address_conflicts = atomic ? with_repeats - rounds : 0;
  cost.cycles = rounds + cost.address_conflicts;
  return cost;
}

}  // namespace

LdsGrouping LdsGroupingOf(std::string_view target) {
  if (target == "gfx950") return LdsGrouping::kCdna4;
  return target.starts_with("gfx9") ? LdsGrouping::kCdna : LdsGrouping::kConsecutive;
}

LdsCost CountLdsCycles(LdsGrouping grouping, LdsAction action, unsigned bytes,
                       std::span<const LdsLane> lanes) {
  const Shape shape = ShapeOf(grouping, action, bytes);
  std::array<Wanted, kMaxGroups> groups;
  for (const LdsLane& lane : lanes) {
    if (lane.bytes == 0 || lane.lane >= kMaxLanes) continue;
    Wanted& wanted = groups[GroupOf(shape, lane.lane)];
    const uint64_t last = (lane.address + lane.bytes - 1) / 4;
    for (uint64_t dword = lane.address / 4; dword <= last && wanted.count < wanted.dwords.size();
         ++dword)
      wanted.dwords[wanted.count++] = static_cast<uint32_t>(dword);
  }
  LdsCost cost;
  for (Wanted& wanted : groups) {
    if (wanted.count != 0) cost += CostOf(wanted, shape.banks, action == LdsAction::kAtomic);
  }
  return cost;
}

}  // namespace rochound::base
