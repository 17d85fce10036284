// SPDX-License-Identifier: MIT
#include "capture/replay/differences.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "capture/layout.h"

namespace rochound::capture::replay {
namespace {

const TypedSpan* SpanAt(const Differences::Rules& rules, uint64_t address) {
  const auto above =
      std::upper_bound(rules.spans.begin(), rules.spans.end(), address,
                       [](uint64_t wanted, const TypedSpan& span) { return wanted < span.base; });
  if (above == rules.spans.begin()) return nullptr;
  const TypedSpan& span = *(above - 1);
  return address < span.end ? &span : nullptr;
}

// What one element of memory is.
struct ElementPlace {
  uint64_t address;
  size_t offset;  // in the page
  Element type;
  const TypedSpan* span;
  uint64_t from;  // where counting of elements starts
};

template <typename Use>
void ForEachElement(const Differences::Rules& rules, uint64_t region_base, uint64_t address,
                    size_t size, Use use) {
  for (size_t at = 0; at < size;) {
    const TypedSpan* const span = SpanAt(rules, address + at);
    Element type = span != nullptr ? span->type : Element::kUnknown;
    if (type == Element::kUnknown) type = rules.untyped;
    const uint64_t from = span != nullptr ? span->base : region_base;
    // An element that does not start here, or does not end before the page does, is looked at byte
    // by byte.
    if ((address + at - from) % SizeOf(type) != 0 || at + SizeOf(type) > size)
      type = Element::kUnknown;
    use(ElementPlace{address + at, at, type, span, from});
    at += SizeOf(type);
  }
}

Difference DifferenceAt(const ElementPlace& place, uint32_t region) {
  Difference difference;
  difference.address = place.address;
  difference.region = region;
  if (place.span != nullptr) difference.argument = place.span->name;
  difference.index = (place.address - place.from) / SizeOf(place.type);
  difference.type = place.type;
  return difference;
}

}  // namespace

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

void Differences::Compare(uint32_t region, uint64_t region_base, uint64_t address,
                          std::span<const std::byte> expected, std::span<const std::byte> got,
                          const ImageMap* image) {
  if (spread_ == nullptr && memcmp(expected.data(), got.data(), expected.size()) == 0) return;
  std::vector<std::byte> moved;
  for (size_t at = 0; at < expected.size(); at += kPageBytes) {
    const size_t size = std::min<size_t>(kPageBytes, expected.size() - at);
    const auto wanted = expected.subspan(at, size);
    auto page = got.subspan(at, size);
    if (memcmp(wanted.data(), page.data(), size) == 0) {
      if (spread_ != nullptr) spread_->Add(region, region_base, address + at, wanted, page);
      continue;
    }
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
    }
    if (spread_ != nullptr) spread_->Add(region, region_base, address + at, wanted, page);
    if (memcmp(wanted.data(), page.data(), size) == 0) continue;
    fingerprint_ = fingerprint_ * 31 + (address + at);
    fingerprint_ = base::Fnv1a64({reinterpret_cast<const char*>(page.data()), size},  // NOLINT
                                 fingerprint_);
    CompareElements(region, region_base, address + at, wanted, page);
  }
}

void Differences::Add(Difference difference) {
  ++elements_;
  if (first_.size() < rules_.show) first_.push_back(std::move(difference));
}

void Differences::CompareElements(uint32_t region, uint64_t region_base, uint64_t address,
                                  std::span<const std::byte> expected,
                                  std::span<const std::byte> got) {
  ForEachElement(rules_, region_base, address, expected.size(), [&](const ElementPlace& place) {
    const std::byte* const one = expected.data() + place.offset;
    const std::byte* const other = got.data() + place.offset;
    if (memcmp(one, other, SizeOf(place.type)) == 0) return;
    for (size_t i = 0; i < SizeOf(place.type); ++i) bytes_ += one[i] != other[i] ? 1 : 0;
    if (IsFloating(place.type)) {
      const double wanted = ValueOf(place.type, one);
      const double error = std::abs(ValueOf(place.type, other) - wanted);
      const auto keep = [&](double value, Worst* worst) {
        if (!std::isfinite(value) || value <= worst->error) return;
        *worst = {DifferenceAt(place, region), value};
        worst->place.expected = TextOf(place.type, one);
        worst->place.got = TextOf(place.type, other);
      };
      keep(error, &worst_absolute_);
      if (wanted != 0) keep(error / std::abs(wanted), &worst_relative_);
    }
    if (Same(place.type, rules_.tolerance, one, other)) return;
    Difference difference = DifferenceAt(place, region);
    difference.expected = TextOf(place.type, one);
    difference.got = TextOf(place.type, other);
    if (difference.expected == difference.got) {  // kinds of NaN
      difference.expected += " " + BitsOf(place.type, one);
      difference.got += " " + BitsOf(place.type, other);
    }
    if (poison_ != nullptr) {
      const size_t size = SizeOf(place.type);
      if (poison_->CapturedKept(place.address, size))
        difference.expected = "not written";
      else if (poison_->IsPattern(place.address, {one, size}, {other, size}))
        difference.got = "not written";
    }
    Add(std::move(difference));
  });
}

void Tolerated::Add(const Differences& differences) {
  if (!differences.equal()) return;
  bytes = std::max(bytes, differences.bytes());
  if (differences.worst().error > relative.error) relative = differences.worst();
  if (differences.worst_absolute().error > absolute.error) absolute = differences.worst_absolute();
}

void Spread::Add(uint32_t region, uint64_t region_base, uint64_t address,
                 std::span<const std::byte> expected, std::span<const std::byte> got) {
  auto known = pages_.find(address);
  if (known == pages_.end()) {
    if (std::equal(expected.begin(), expected.end(), got.begin())) return;
    Page page{region, region_base, {expected.begin(), expected.end()}, {}, {}};
    // In the runs before this one it was as expected.
    const std::span<const std::byte> first = runs_ > 0 ? expected : got;
    page.low.assign(first.begin(), first.end());
    page.high = page.low;
    known = pages_.emplace(address, std::move(page)).first;
  }
  Merge(&known->second, address, got);
}

void Spread::Merge(Page* page, uint64_t address, std::span<const std::byte> got) const {
  ForEachElement(rules_, page->region_base, address, got.size(), [&](const ElementPlace& place) {
    const std::byte* const value = got.data() + place.offset;
    std::byte* const low = page->low.data() + place.offset;
    std::byte* const high = page->high.data() + place.offset;
    const size_t size = SizeOf(place.type);
    if (Less(place.type, value, low)) memcpy(low, value, size);
    if (Less(place.type, high, value)) memcpy(high, value, size);
  });
}

std::map<uint64_t, double> Spread::WidestRanges() const {
  std::map<uint64_t, double> widest;
  for (const auto& [address, page] : pages_) {
    ForEachElement(rules_, page.region_base, address, page.low.size(),
                   [&](const ElementPlace& place) {
                     if (!IsFloating(place.type)) return;
                     const double range = ValueOf(place.type, page.high.data() + place.offset) -
                                          ValueOf(place.type, page.low.data() + place.offset);
                     double& known = widest[place.from];
                     if (std::isfinite(range)) known = std::max(known, range);
                   });
  }
  return widest;
}

Differences Spread::Outside(const Spread& original) const {
  Differences outside(rules_);
  const std::map<uint64_t, double> widest = original.WidestRanges();
  // A page that only one of the two has is as expected in all runs of the other.
  std::map<uint64_t, const Page*> all;
  for (const Spread* spread : {&original, this})
    for (const auto& [address, page] : spread->pages_) all.emplace(address, &page);
  for (const auto& [address, page] : all) {
    const auto find = [&, at = address](const Spread& spread) {
      const auto known = spread.pages_.find(at);
      return known == spread.pages_.end() ? nullptr : &known->second;
    };
    const Page* const theirs = find(original);
    const Page* const ours = find(*this);
    ForEachElement(
        rules_, page->region_base, address, page->expected.size(), [&](const ElementPlace& place) {
          const auto at = [&](const Page* of, const std::vector<std::byte> Page::* bound) {
            return (of == nullptr ? page->expected : of->*bound).data() + place.offset;
          };
          const std::byte* const low = at(theirs, &Page::low);
          const std::byte* const high = at(theirs, &Page::high);
          const std::byte* const our_low = at(ours, &Page::low);
          const std::byte* const our_high = at(ours, &Page::high);
          const bool above = Less(place.type, high, our_low);
          const bool below = Less(place.type, our_high, low);
          if (!above && !below) return;
          const std::byte* const bound = above ? high : low;
          const std::byte* const nearest = above ? our_low : our_high;
          if (IsFloating(place.type)) {
            const auto room = widest.find(place.from);
            const double missed =
                std::abs(ValueOf(place.type, nearest) - ValueOf(place.type, bound));
            if (room != widest.end() && missed <= room->second) return;
          }
          if (Same(place.type, rules_.tolerance, bound, nearest)) return;
          const auto text = [&](const std::byte* from, const std::byte* to) {
            const std::string first = TextOf(place.type, from);
            const std::string last = TextOf(place.type, to);
            return first == last ? first : first + " to " + last;
          };
          Difference difference = DifferenceAt(place, page->region);
          difference.expected = text(low, high);
          difference.got = text(our_low, our_high);
          outside.Add(std::move(difference));
        });
  }
  return outside;
}

}  // namespace rochound::capture::replay
