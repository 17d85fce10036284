// SPDX-License-Identifier: MIT
#include "capture/replay/poison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "capture/replay/plan.h"

namespace rochound::capture::replay {
namespace {

using base::Result;

constexpr uint64_t kWord = 8;
// More pieces than that are not tried one by one.
constexpr size_t kMostPieces = 24;

uint64_t WordAt(std::span<const std::byte> bytes, size_t offset) {
  uint64_t word;
  memcpy(&word, bytes.data() + offset, sizeof(word));
  return word;
}

// A number that looks random, with a bit set in each byte.
uint64_t Mask(uint64_t address) {
  uint64_t x = address / kWord + 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return (x ^ x >> 31) | 0x0101010101010101;
}

bool MayBePoisoned(const Region& region) {
  return region.taken && region.access != "ro" && region.kind != "kernarg" &&
         region.kind != "code_object" && region.base % kWord == 0;
}

// The first and the last byte of a region's piece that the launch changed, as addresses: [base,
// base) if none.
Result<Range> ChangedWithin(const Bundle& bundle, uint32_t region, const Range& piece) {
  const uint64_t base = bundle.manifest().regions[region].base;
  std::vector<std::byte> before, after;
  uint64_t first = 0, end = 0;  // addresses
  const auto look = [&](const Extent& extent, bool from_back) -> Result<void> {
    const uint64_t from = std::max(base + extent.offset, piece.base);
    const uint64_t to = std::min(base + End(extent), piece.base + piece.size);
    if (from >= to) return {};
    before.resize(to - from);
    after.resize(to - from);
    ROCHOUND_CHECK(bundle.ReadBefore(region, from - base, before));
    ROCHOUND_CHECK(bundle.ReadAfter(region, from - base, after));
    if (from_back) {
      const auto [one, other] = std::mismatch(before.rbegin(), before.rend(), after.rbegin());
      if (one != before.rend()) end = to - static_cast<uint64_t>(one - before.rbegin());
    } else {
      const auto [one, other] = std::mismatch(before.begin(), before.end(), after.begin());
      if (one != before.end()) first = from + static_cast<uint64_t>(one - before.begin());
    }
    return {};
  };
  const std::span<const Extent> extents = bundle.after(region);
  for (size_t i = 0; i < extents.size() && first == 0; ++i) ROCHOUND_CHECK(look(extents[i], false));
  for (size_t i = extents.size(); i-- > 0 && end == 0;) ROCHOUND_CHECK(look(extents[i], true));
  if (first == 0 || end <= first) return Range{piece.base, 0};
  return Range{first, end - first};
}

}  // namespace

Result<std::vector<PoisonPiece>> PlanPoison(const Bundle& bundle,
                                            std::span<const TypedSpan> spans) {
  const std::vector<Region>& regions = bundle.manifest().regions;
  std::set<uint64_t> cuts;
  const std::span<const std::byte> kernarg = bundle.kernarg();
  for (size_t at = 0; at + kWord <= kernarg.size(); at += kWord) {
    const uint64_t word = WordAt(kernarg, at);
    if (RegionAt(regions, word) >= 0) cuts.insert(word / kWord * kWord);
  }
  std::set<uint64_t> read_only;
  for (const TypedSpan& span : spans)
    if (span.read_only) read_only.insert(span.base / kWord * kWord);

  std::vector<PoisonPiece> pieces;
  const auto add = [&](uint64_t base, uint64_t end, bool output) {
    base = (base + kWord - 1) / kWord * kWord;
    end = end / kWord * kWord;
    if (base >= end) return;
    if (pieces.size() < kMostPieces) pieces.push_back({{}, output});
    pieces.back().ranges.push_back({base, end - base});
  };
  // What arguments point to comes first: it is tried on its own.
  for (const bool pointed : {true, false}) {
    for (uint32_t i = 0; i < regions.size(); ++i) {
      const Region& region = regions[i];
      if (!MayBePoisoned(region)) continue;
      const uint64_t limit = region.base + region.size;
      for (uint64_t base = region.base; base < limit;) {
        const auto next = cuts.upper_bound(base);
        const uint64_t end = next == cuts.end() ? limit : std::min(*next, limit);
        if (cuts.contains(base) == pointed && !read_only.contains(base)) {
          // What is changed may be read, too; what is around it less likely.
          ROCHOUND_TRY(const Range changed, ChangedWithin(bundle, i, {base, end - base}));
          if (changed.size == 0) {
            add(base, end, false);
          } else {
            add(base, changed.base, true);
            add(changed.base / kWord * kWord,
                std::min(changed.base + changed.size + kWord - 1, end), true);
            add(changed.base + changed.size, end, true);
          }
        }
        base = end;
      }
    }
  }
  return pieces;
}

std::string RangesText(std::span<const Range> ranges) {
  std::string text;
  for (const Range& range : ranges)
    text += fmt::format("{}{:#x}+{}", text.empty() ? "" : ",", range.base, range.size);
  return text;
}

std::vector<Range> ParseRanges(std::string_view text) {
  std::vector<Range> ranges;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string one(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    char* plus = nullptr;
    const uint64_t base = strtoull(one.c_str(), &plus, 16);
    if (*plus != '+') continue;
    ranges.push_back({base, strtoull(plus + 1, nullptr, 10)});
  }
  return ranges;
}

Poison::Poison(std::vector<Range> ranges, std::span<const Region> regions)
    : ranges_(std::move(ranges)), regions_(regions), written_(ranges_.size()) {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& one, const Range& other) { return one.base < other.base; });
  for (const Region& region : regions_) {
    lowest_ = std::min(lowest_, region.base);
    highest_ = std::max(highest_, region.base + region.size);
  }
}

uint64_t Poison::written_bytes() const {
  return std::accumulate(written_.begin(), written_.end(), uint64_t{0});
}

std::vector<Range> Poison::Touched() const {
  std::vector<Range> touched;
  for (const Range& range : ranges_) {
    for (uint64_t at = range.base; at < range.base + range.size; at += kWord) {
      const auto known = kept_.find(at / kPageBytes);
      if (known != kept_.end() && !known->second) {
        at = (at / kPageBytes + 1) * kPageBytes - kWord;
        continue;
      }
      if (CapturedKept(at, kWord)) continue;
      if (!touched.empty() && touched.back().base + touched.back().size == at)
        touched.back().size += kWord;
      else
        touched.push_back({at, kWord});
    }
  }
  return touched;
}

bool Poison::Covers(uint64_t address) const {
  const auto above =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](uint64_t wanted, const Range& range) { return wanted < range.base; });
  return above != ranges_.begin() && address - (above - 1)->base < (above - 1)->size;
}

uint64_t Poison::PatternFor(uint64_t address, uint64_t after) const {
  if (after >= lowest_ && after < highest_ && RegionAt(regions_, after) >= 0) return after;
  return after ^ Mask(address);
}

template <typename Use>
void Poison::ForEachPart(uint64_t address, size_t size, Use use) const {
  auto range = std::upper_bound(
      ranges_.begin(), ranges_.end(), address,
      [](uint64_t wanted, const Range& one) { return wanted < one.base + one.size; });
  for (; range != ranges_.end() && range->base < address + size; ++range) {
    const uint64_t from = std::max(range->base, address);
    const uint64_t to = std::min(range->base + range->size, address + size);
    use(static_cast<size_t>(range - ranges_.begin()), static_cast<size_t>(from - address),
        static_cast<size_t>(to - address));
  }
}

void Poison::Apply(uint64_t address, std::span<const std::byte> after,
                   std::span<std::byte> bytes) const {
  ForEachPart(address, bytes.size(), [&](size_t, size_t from, size_t to) {
    for (size_t at = from; at + kWord <= to; at += kWord) {
      const uint64_t left = WordAt(after, at);
      const uint64_t pattern = PatternFor(address + at, left);
      if (pattern != left) memcpy(bytes.data() + at, &pattern, kWord);
    }
  });
}

void Poison::Learn(uint64_t address, std::span<const std::byte> after,
                   std::span<const std::byte> got) {
  ForEachPart(address, got.size(), [&](size_t range, size_t from, size_t to) {
    for (size_t page = from; page < to;) {
      const uint64_t number = (address + page) / kPageBytes;
      const size_t end =
          std::min<uint64_t>(to, (number + 1) * kPageBytes - address);  // of the part in this page
      std::unique_ptr<Bits> bits;
      bool whole = end - page == kPageBytes;
      for (size_t at = page; at + kWord <= end; at += kWord) {
        const uint64_t left = WordAt(after, at);
        const uint64_t pattern = PatternFor(address + at, left);
        if (pattern == left) continue;
        for (size_t i = at; i < at + kWord; ++i) {
          const auto byte = static_cast<std::byte>(pattern >> 8 * (i - at));
          if (got[i] != byte) {
            whole = false;
            written_[range] += got[i] == after[i] ? 1 : 0;
            continue;
          }
          if (!bits) bits = std::make_unique<Bits>(kPageBytes);
          (*bits)[(address + i) % kPageBytes] = true;
        }
      }
      if (whole) {
        kept_[number] = nullptr;
      } else if (bits) {
        const auto [known, fresh] = kept_.try_emplace(number, nullptr);
        if (fresh) {
          known->second = std::move(bits);
        } else if (known->second) {
          for (size_t i = 0; i < kPageBytes; ++i)
            if ((*bits)[i]) (*known->second)[i] = true;
        }
      }
      page = end;
    }
  });
}

void Poison::Expect(uint64_t address, std::span<std::byte> after) const {
  ForEachPart(address, after.size(), [&](size_t, size_t from, size_t to) {
    for (size_t at = from; at + kWord <= to; at += kWord) {
      const auto known = kept_.find((address + at) / kPageBytes);
      if (known == kept_.end()) {  // all of the page was written
        at += (kPageBytes - (address + at) % kPageBytes) - kWord;
        continue;
      }
      const uint64_t left = WordAt(after, at);
      const uint64_t pattern = PatternFor(address + at, left);
      if (pattern == left) continue;
      for (size_t i = at; i < at + kWord; ++i)
        if (!known->second || (*known->second)[(address + i) % kPageBytes])
          after[i] = static_cast<std::byte>(pattern >> 8 * (i - at));
    }
  });
}

bool Poison::CapturedKept(uint64_t address, size_t size) const {
  for (uint64_t at = address; at < address + size; ++at) {
    const auto known = kept_.find(at / kPageBytes);
    if (known == kept_.end() || !Covers(at)) return false;
    if (known->second && !(*known->second)[at % kPageBytes]) return false;
  }
  return true;
}

bool Poison::IsPattern(uint64_t address, std::span<const std::byte> after,
                       std::span<const std::byte> got) const {
  for (size_t i = 0; i < got.size(); ++i) {
    const uint64_t at = address + i;
    const auto mask = static_cast<std::byte>(Mask(at / kWord * kWord) >> 8 * (at % kWord));
    if (!Covers(at) || got[i] != (after[i] ^ mask)) return false;
  }
  return true;
}

}  // namespace rochound::capture::replay
