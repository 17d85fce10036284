// SPDX-License-Identifier: MIT
#include "softgpu/counters/cache_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

namespace rochound::softgpu {
namespace {

constexpr uint64_t kSector = 32;
constexpr uint64_t kMostLine = 64 * kSector;  // bits of a dirty mask
constexpr uint64_t kMostWays = 1024;
constexpr uint64_t kMostUnits = 65536;

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<CacheShape> ParseShape(std::string_view text) {
  if (text == "0") return CacheShape{};
  const size_t first = text.find('/');
  const size_t second = text.find('/', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto bytes = Number(text.substr(0, first));
  const auto line = Number(text.substr(first + 1, second - first - 1));
  const auto ways = Number(text.substr(second + 1));
  if (!bytes || !line || !ways) return std::nullopt;
  const bool possible = *line >= kSector && *line <= kMostLine && std::has_single_bit(*line) &&
                        *ways != 0 && *ways <= kMostWays && *bytes != 0 &&
                        *bytes % (*line * *ways) == 0;
  if (!possible) return std::nullopt;
  return CacheShape{*bytes, *line, *ways};
}

// Bits of the sectors of a line that bytes of it lie in.
uint64_t Sectors(uint64_t offset, uint64_t bytes) {
  const uint64_t first = offset / kSector;
  const uint64_t last = (offset + bytes - 1) / kSector;
  return (~uint64_t{0} >> (63 - (last - first))) << first;
}

}  // namespace

std::optional<CacheShapes> ParseCacheShapes(std::string_view text) {
  CacheShapes shapes;
  bool has_l1 = false;
  bool has_l2 = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (name == "units" || name == "dies") {
      const auto number = Number(value);
      if (!number || *number == 0 || *number > kMostUnits) return std::nullopt;
      (name == "units" ? shapes.units : shapes.dies) = *number;
      continue;
    }
    const auto shape = ParseShape(value);
    if (!shape) return std::nullopt;
    if (name == "l1") {
      shapes.l1 = *shape;
      has_l1 = shape->bytes != 0;
    } else if (name == "scalar") {
      shapes.scalar = *shape;
    } else if (name == "l2") {
      shapes.l2 = *shape;
      has_l2 = shape->bytes != 0;
    } else if (name == "mall") {
      shapes.mall = *shape;
    } else {
      return std::nullopt;
    }
  }
  if (!has_l1 || !has_l2 || shapes.scalar.bytes == 0) return std::nullopt;
  return shapes;
}

SetAssociativeCache::SetAssociativeCache(const CacheShape& shape)
    : shape_(shape), sets_(shape.bytes / (shape.line_bytes * shape.ways)) {}

bool SetAssociativeCache::Use(uint64_t number, uint64_t dirty, std::optional<Line>* evicted) {
  std::vector<Line>& set = lines_[number % sets_];
  const auto found =
      std::find_if(set.begin(), set.end(), [&](const Line& line) { return line.number == number; });
  if (found != set.end()) {
    found->dirty |= dirty;
    std::rotate(set.begin(), found, found + 1);
    return true;
  }
  if (set.size() == shape_.ways) {
    if (set.back().dirty != 0) *evicted = set.back();
    set.pop_back();
  }
  set.insert(set.begin(), {number, dirty});
  return false;
}

std::vector<SetAssociativeCache::Line> SetAssociativeCache::TakeDirty() {
  std::vector<Line> dirty;
  for (auto& [number, set] : lines_) {
    for (Line& line : set) {
      if (line.dirty == 0) continue;
      dirty.push_back(line);
      line.dirty = 0;
    }
  }
  // Sets have no order of their own, and what follows must not depend on one.
  std::sort(dirty.begin(), dirty.end(),
            [](const Line& a, const Line& b) { return a.number < b.number; });
  return dirty;
}

SetAssociativeCache& CacheModel::At(Caches* caches, uint64_t place, const CacheShape& shape) {
  if (caches->size() <= place) caches->resize(place + 1);
  auto& cache = (*caches)[place];
  if (cache == nullptr) cache = std::make_unique<SetAssociativeCache>(shape);
  return *cache;
}

void CacheModel::Access(uint64_t group, std::span<const MemoryPart> parts, MemoryAction action) {
  // Lanes that want the same line ask for it once.
  struct Piece {
    uint64_t line;
    uint64_t sectors;
    bool is_scalar;
  };
  std::array<Piece, 2 * MemoryTrace::kMaxParts> pieces;
  size_t count = 0;
  for (const MemoryPart& part : parts) {
    if (part.space == MemorySpace::kLds || part.bytes == 0) continue;
    const bool is_scalar = part.space == MemorySpace::kScalar;
    const uint64_t line_bytes = action != MemoryAction::kLoad ? shapes_.l2.line_bytes
                                : is_scalar                   ? shapes_.scalar.line_bytes
                                                              : shapes_.l1.line_bytes;
    for (uint64_t at = part.address; at < part.address + part.bytes;) {
      const uint64_t end = std::min(part.address + part.bytes, (at / line_bytes + 1) * line_bytes);
      const Piece piece{at / line_bytes, Sectors(at % line_bytes, end - at), is_scalar};
      const auto same = std::find_if(pieces.begin(), pieces.begin() + count,
                                     [&](const Piece& one) { return one.line == piece.line; });
      if (same != pieces.begin() + count) {
        same->sectors |= piece.sectors;
      } else if (count < pieces.size()) {
        pieces[count++] = piece;
      }
      at = end;
    }
  }
  const uint64_t die = group % shapes_.dies;
  for (size_t i = 0; i < count; ++i) {
    const Piece& piece = pieces[i];
    if (action == MemoryAction::kLoad) {
      const CacheShape& shape = piece.is_scalar ? shapes_.scalar : shapes_.l1;
      Read(group, piece.line * shape.line_bytes, shape.line_bytes, piece.is_scalar);
      continue;
    }
    // Stores go through L1 to L2, and atomics are done there.
    l1_sums_.written_bytes += kSector * static_cast<uint64_t>(std::popcount(piece.sectors));
    UseL2(die, piece.line, piece.sectors, action == MemoryAction::kAtomic);
  }
}

void CacheModel::Read(uint64_t group, uint64_t address, uint64_t bytes, bool is_scalar) {
  const CacheShape& shape = is_scalar ? shapes_.scalar : shapes_.l1;
  CacheSums& sums = is_scalar ? scalar_sums_ : l1_sums_;
  SetAssociativeCache& cache = At(is_scalar ? &scalar_ : &l1_, group % shapes_.units, shape);
  std::optional<SetAssociativeCache::Line> evicted;  // never dirty
  if (cache.Use(address / bytes, 0, &evicted)) {
    ++sums.hits;
    return;
  }
  ++sums.misses;
  sums.read_bytes += bytes;
  for (uint64_t line = address / shapes_.l2.line_bytes;
       line <= (address + bytes - 1) / shapes_.l2.line_bytes; ++line)
    UseL2(group % shapes_.dies, line, 0, true);
}

void CacheModel::UseL2(uint64_t die, uint64_t line, uint64_t dirty, bool reads) {
  std::optional<SetAssociativeCache::Line> evicted;
  const bool hit = At(&l2_, die, shapes_.l2).Use(line, dirty, &evicted);
  ++(hit ? l2_sums_.hits : l2_sums_.misses);
  if (evicted) WriteBehindL2(*evicted);
  if (hit || !reads) return;  // a store needs nothing of what was there
  l2_sums_.read_bytes += shapes_.l2.line_bytes;
  ReadBehindL2(line * shapes_.l2.line_bytes, shapes_.l2.line_bytes);
}

void CacheModel::ReadBehindL2(uint64_t address, uint64_t bytes) {
  if (!has_mall()) {
    memory_read_ += bytes;
    return;
  }
  SetAssociativeCache& mall = At(&mall_, 0, shapes_.mall);
  for (uint64_t line = address / mall.line_bytes();
       line <= (address + bytes - 1) / mall.line_bytes(); ++line) {
    std::optional<SetAssociativeCache::Line> evicted;
    const bool hit = mall.Use(line, 0, &evicted);
    ++(hit ? mall_sums_.hits : mall_sums_.misses);
    if (!hit) {
      mall_sums_.read_bytes += mall.line_bytes();
      memory_read_ += mall.line_bytes();
    }
    if (evicted) {
      const uint64_t written = kSector * static_cast<uint64_t>(std::popcount(evicted->dirty));
      mall_sums_.written_bytes += written;
      memory_written_ += written;
    }
  }
}

void CacheModel::WriteBehindL2(const SetAssociativeCache::Line& line) {
  const uint64_t bytes = kSector * static_cast<uint64_t>(std::popcount(line.dirty));
  l2_sums_.written_bytes += bytes;
  if (!has_mall()) {
    memory_written_ += bytes;
    return;
  }
  SetAssociativeCache& mall = At(&mall_, 0, shapes_.mall);
  const uint64_t begin = line.number * shapes_.l2.line_bytes;
  for (uint64_t sector = 0; sector < shapes_.l2.line_bytes / kSector; ++sector) {
    if ((line.dirty >> sector & 1) == 0) continue;
    const uint64_t address = begin + sector * kSector;
    std::optional<SetAssociativeCache::Line> evicted;
    const bool hit = mall.Use(address / mall.line_bytes(),
                              Sectors(address % mall.line_bytes(), kSector), &evicted);
    ++(hit ? mall_sums_.hits : mall_sums_.misses);
    if (!evicted) continue;
    const uint64_t written = kSector * static_cast<uint64_t>(std::popcount(evicted->dirty));
    mall_sums_.written_bytes += written;
    memory_written_ += written;
  }
}

void CacheModel::Finish() {
  for (const auto& cache : l2_) {
    if (cache == nullptr) continue;
    for (const SetAssociativeCache::Line& line : cache->TakeDirty()) WriteBehindL2(line);
  }
  for (const auto& cache : mall_)
    if (cache != nullptr)
      for (const SetAssociativeCache::Line& line : cache->TakeDirty())
        left_in_mall_ += kSector * static_cast<uint64_t>(std::popcount(line.dirty));
}

}  // namespace rochound::softgpu
