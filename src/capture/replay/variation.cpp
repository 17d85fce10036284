// SPDX-License-Identifier: MIT
//
// The part of Session that runs builds from memory that no program had.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/files.h"
#include "capture/replay/session.h"

namespace rochound::capture::replay {
namespace {

// Memory is kept three times in the host.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

}  // namespace

Session::Snapshot Session::ReadMemory() {
  Snapshot snapshot;
  const std::vector<Region>& regions = manifest().regions;
  for (uint32_t i = 0; i < regions.size(); ++i) {
    // Arguments and the code object have their own ways, and are no inputs.
    if (!regions[i].taken || regions[i].kind == "kernarg" || regions[i].kind == "code_object")
      continue;
    std::vector<std::byte> bytes(regions[i].size);
    Must(copier_->Read(regions[i].base, bytes));
    snapshot.emplace_back(i, std::move(bytes));
  }
  return snapshot;
}

void Session::WriteMemory(const Snapshot& snapshot) {
  for (const auto& [region, bytes] : snapshot)
    Must(copier_->Write(manifest().regions[region].base, bytes));
}

bool Session::StartVariation(uint64_t seed, InputKind kind) {
  const std::vector<Region>& regions = manifest().regions;
  uint64_t total = 0;
  for (const Region& region : regions) total += region.taken ? region.size : 0;
  if (total > kMostBytes) return false;
  Candidate& captured = candidates_.front();
  Restore(captured);
  as_captured_ = ReadMemory();
  varied_ = as_captured_;
  varied_elements_ = varied_integers_ = 0;
  varied_rules_ = rules_;
  varied_rules_.tolerance.any_nan = kind == InputKind::kSpecial;
  const bool integers = kind == InputKind::kRange || kind == InputKind::kValues;
  for (auto& [region, bytes] : varied_) {
    const uint64_t base = regions[region].base;
    const uint64_t end = base + bytes.size();
    if (poison_ != nullptr) {
      for (const Range& range : poison_->ranges()) {
        if (range.base < base || range.base + range.size > end) continue;
        VaryBytes(seed, range.base, regions, {bytes.data() + (range.base - base), range.size});
      }
    }
    for (const TypedSpan& span : rules_.spans) {
      const Element type = span.type == Element::kUnknown ? rules_.untyped : span.type;
      if (type == Element::kUnknown || span.base < base || span.end > end || span.region != region)
        continue;
      const std::span<std::byte> elements(bytes.data() + (span.base - base), span.end - span.base);
      const uint64_t own_seed = seed + span.argument;
      if (IsFloating(type)) {
        varied_elements_ += VaryElements(type, own_seed, elements);
        if (kind == InputKind::kSpecial)
          AddSpecial(type, rules_.tolerance.exact, own_seed, elements);
      } else if (integers) {
        varied_integers_ += VaryIntegers(type, kind == InputKind::kRange, own_seed, elements);
      }
    }
  }
  WriteMemory(varied_);
  Launch(captured);
  varied_after_ = ReadMemory();
  return true;
}

Differences Session::RunVaried(Candidate& candidate) {
  Restore(candidate);  // its variables; the rest is written next
  WriteMemory(varied_);
  Launch(candidate);
  const Snapshot got = ReadMemory();
  Differences differences(varied_rules_);
  for (size_t i = 0; i < got.size(); ++i) {
    const uint64_t base = manifest().regions[got[i].first].base;
    differences.Compare(got[i].first, base, base, varied_after_[i].second, got[i].second,
                        &candidate.image.map);
  }
  return differences;
}

void Session::EndVariation() { WriteMemory(as_captured_); }

void Session::Dump(Candidate& candidate, const std::filesystem::path& folder) {
  std::error_code error;
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (const char* const side : {"original", "candidate"}) {
    std::filesystem::create_directories(folder / side, error);
    if (error)
      answer_.End(Verdict::kFailed,
                  base::ErrnoError("cannot create", folder / side, error.value()).message);
  }
  Restore(candidate);
  Launch(candidate);
  const Snapshot got = ReadMemory();
  for (const auto& [region, bytes] : got) {
    const Region& where = manifest().regions[region];
    const bool poisoned =
        poison_ != nullptr &&
        std::any_of(poison_->ranges().begin(), poison_->ranges().end(), [&](const Range& range) {
          return range.base >= where.base && range.base < where.base + where.size;
        });
    if (bundle_->after(region).empty() && !poisoned) continue;
    const std::string name = fmt::format("region_{}.bin", region);
    std::vector<std::byte> expected(bytes.size());
    Must(bundle_->ReadAfter(region, 0, expected), Verdict::kBadBundle);
    const auto text = [](std::span<const std::byte> data) {
      return std::string_view(reinterpret_cast<const char*>(data.data()), data.size());  // NOLINT
    };
    Must(base::WriteFile(folder / "original" / name, text(expected)));
    Must(base::WriteFile(folder / "candidate" / name, text(bytes)));
    nlohmann::ordered_json spans = nlohmann::ordered_json::array();
    for (const TypedSpan& span : rules_.spans)
      if (span.region == region)
        spans.push_back({{"argument", span.name},
                         {"type", NameOf(span.type)},
                         {"offset", span.base - where.base},
                         {"bytes", span.end - span.base}});
    outputs.push_back({{"file", name}, {"region", region}, {"arguments", spans}});
  }
  for (const char* const side : {"original", "candidate"})
    Must(base::WriteFile(folder / side / "outputs.json", outputs.dump(2) + "\n"));
}

}  // namespace rochound::capture::replay
