// SPDX-License-Identifier: MIT
#include "capture/replay/differences.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "capture/layout.h"

namespace rochound::capture::replay {

void PageRuns::Add(const PageRuns& other) {
  runs_.insert(runs_.end(), other.runs_.begin(), other.runs_.end());
}

void PageRuns::Join(std::span<const Region> regions) {
  std::sort(runs_.begin(), runs_.end(),
            [](const Range& one, const Range& other) { return one.base < other.base; });
  std::vector<Range> joined;
  size_t region = 0;
  uint64_t limit = 0;  // of the last run's region
  for (const Range& run : runs_) {
    if (!joined.empty() && run.base < limit) {
      Range& last = joined.back();
      const uint64_t end = last.base + last.size;
      if (run.base <= end + kGap) {
        last.size = std::max(end, run.base + run.size) - last.base;
        continue;
      }
    }
    while (region < regions.size() && regions[region].base + regions[region].size <= run.base)
      ++region;
    limit = region < regions.size() ? regions[region].base + regions[region].size : 0;
    joined.push_back(run);
  }
  runs_ = std::move(joined);
}

uint64_t PageRuns::bytes() const {
  uint64_t bytes = 0;
  for (const Range& run : runs_) bytes += run.size;
  return bytes;
}

const TypedSpan* Differences::SpanAt(uint64_t address) const {
  const auto above =
      std::upper_bound(rules_.spans.begin(), rules_.spans.end(), address,
                       [](uint64_t wanted, const TypedSpan& span) { return wanted < span.base; });
  if (above == rules_.spans.begin()) return nullptr;
  const TypedSpan& span = *(above - 1);
  return address < span.end ? &span : nullptr;
}

void Differences::Compare(uint32_t region, uint64_t region_base, uint64_t address,
                          std::span<const std::byte> expected, std::span<const std::byte> got,
                          const ImageMap* image) {
  if (memcmp(expected.data(), got.data(), expected.size()) == 0) return;
  std::vector<std::byte> moved;
  for (size_t at = 0; at < expected.size(); at += kPageBytes) {
    const size_t size = std::min<size_t>(kPageBytes, expected.size() - at);
    const auto wanted = expected.subspan(at, size);
    auto page = got.subspan(at, size);
    if (memcmp(wanted.data(), page.data(), size) == 0) continue;
    pages_.Add(address + at, size);
    if (image != nullptr) {
      moved.assign(page.begin(), page.end());
      for (size_t word = (8 - (address + at) % 8) % 8; word + 8 <= size; word += 8) {
        uint64_t value;
        memcpy(&value, moved.data() + word, sizeof(value));
        if (memcmp(wanted.data() + word, &value, sizeof(value)) == 0) continue;
        const auto captured = image->Captured(value);
        if (captured && memcmp(wanted.data() + word, &*captured, sizeof(*captured)) == 0)
          memcpy(moved.data() + word, &*captured, sizeof(*captured));
      }
      page = moved;
      if (memcmp(wanted.data(), page.data(), size) == 0) continue;
    }
    fingerprint_ = fingerprint_ * 31 + (address + at);
    fingerprint_ = base::Fnv1a64({reinterpret_cast<const char*>(page.data()), size},  // NOLINT
                                 fingerprint_);
    CompareElements(region, region_base, address + at, wanted, page);
  }
}

void Differences::CompareElements(uint32_t region, uint64_t region_base, uint64_t address,
                                  std::span<const std::byte> expected,
                                  std::span<const std::byte> got) {
  for (size_t at = 0; at < expected.size();) {
    const TypedSpan* const span = SpanAt(address + at);
    Element type = span != nullptr ? span->type : Element::kUnknown;
    if (type == Element::kUnknown) type = rules_.untyped;
    const uint64_t from = span != nullptr ? span->base : region_base;
    // An element that does not start here, or does not end before the page does, is looked at byte
    // by byte.
    if ((address + at - from) % SizeOf(type) != 0 || at + SizeOf(type) > expected.size())
      type = Element::kUnknown;
    const std::byte* const one = expected.data() + at;
    const std::byte* const other = got.data() + at;
    at += SizeOf(type);
    if (memcmp(one, other, SizeOf(type)) == 0) continue;
    if (IsFloating(type)) {
      const double wanted = ValueOf(type, one);
      const double error = std::abs(ValueOf(type, other) - wanted);
      if (wanted != 0 && std::isfinite(error))
        worst_relative_ = std::max(worst_relative_, error / std::abs(wanted));
    }
    if (Same(type, rules_.tolerance, one, other)) continue;
    ++elements_;
    if (first_.size() >= rules_.show) continue;
    Difference difference;
    difference.address = address + static_cast<uint64_t>(one - expected.data());
    difference.region = region;
    if (span != nullptr) difference.argument = span->name;
    difference.index = (difference.address - from) / SizeOf(type);
    difference.type = type;
    difference.expected = TextOf(type, one);
    difference.got = TextOf(type, other);
    first_.push_back(std::move(difference));
  }
}

}  // namespace rochound::capture::replay
