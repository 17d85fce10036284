// SPDX-License-Identifier: MIT
#include "capture/replay/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

namespace rochound::capture::replay {
namespace {

// The part whose member `place` is the last one not above the address.
const ImagePart* Find(const std::vector<ImagePart>& parts, uint64_t ImagePart::* place,
                      uint64_t address) {
  const auto above = std::upper_bound(
      parts.begin(), parts.end(), address,
      [&](uint64_t wanted, const ImagePart& part) { return wanted < part.*place; });
  if (above == parts.begin()) return nullptr;
  const ImagePart& part = *(above - 1);
  return address - part.*place < part.size ? &part : nullptr;
}

template <typename Translate>
size_t MoveWords(std::span<std::byte> bytes, uint64_t address, Translate translate) {
  size_t moved = 0;
  for (size_t at = (8 - address % 8) % 8; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    memcpy(&word, bytes.data() + at, sizeof(word));
    if (const std::optional<uint64_t> other = translate(word)) {
      memcpy(bytes.data() + at, &*other, sizeof(*other));
      ++moved;
    }
  }
  return moved;
}

// By name; a name that several have (compilers number their own) is nobody's.
std::map<std::string, const codeobj::Symbol*> ByName(const std::vector<codeobj::Symbol>& symbols) {
  std::map<std::string, const codeobj::Symbol*> named;
  for (const codeobj::Symbol& symbol : symbols) {
    const auto [at, fresh] = named.try_emplace(symbol.name, &symbol);
    if (!fresh) at->second = nullptr;
  }
  return named;
}

}  // namespace

ImageMap ImageMap::Same(const codeobj::CodeObject& object, const CodeObject& captured,
                        uint64_t delta) {
  ImageMap map;
  for (const codeobj::Segment& segment : object.segments()) {
    if (segment.executable || segment.memory_size == 0) continue;
    map.data_.push_back(
        {segment.address + captured.load_delta, segment.address + delta, segment.memory_size});
  }
  map.places_.push_back({captured.loaded.base, captured.loaded.base - captured.load_delta + delta,
                         captured.loaded.size});
  map.Sort();
  return map;
}

ImageMap ImageMap::ByName(const codeobj::CodeObject& object, const CodeObject& captured,
                          uint64_t delta, const codeobj::CodeObject& other, uint64_t other_delta,
                          std::vector<std::string>* notes) {
  ImageMap map;
  const std::set<std::string_view> left(other.undefined().begin(), other.undefined().end());
  const auto other_variables = replay::ByName(other.variables());
  for (const auto& [name, symbol] : replay::ByName(object.variables())) {
    if (symbol == nullptr || symbol->size == 0) continue;
    if (left.contains(name)) {
      map.data_.push_back(
          {symbol->address + captured.load_delta, symbol->address + delta, symbol->size});
      map.places_.push_back(map.data_.back());
      continue;
    }
    const auto found = other_variables.find(name);
    if (found == other_variables.end() || found->second == nullptr) {
      // The compiler's own are another one in each build.
      if (symbol->writable && !name.starts_with("__hip_"))
        notes->push_back(fmt::format(
            "the other build has no variable '{}': its captured value is used by nobody", name));
      continue;
    }
    if (found->second->size != symbol->size) {
      notes->push_back(fmt::format(
          "variable '{}' has {} bytes in the other build, {} in the captured one: it keeps what "
          "the file says",
          name, found->second->size, symbol->size));
      continue;
    }
    const ImagePart part = {symbol->address + captured.load_delta,
                            found->second->address + other_delta, symbol->size};
    // What neither the kernel nor the program can change comes with the file.
    if (symbol->writable || symbol->global) map.data_.push_back(part);
    map.places_.push_back(part);
  }
  const auto other_functions = replay::ByName(other.functions());
  for (const auto& [name, symbol] : replay::ByName(object.functions())) {
    const auto found = other_functions.find(name);
    if (symbol == nullptr || found == other_functions.end() || found->second == nullptr) continue;
    map.places_.push_back(
        {symbol->address + captured.load_delta, found->second->address + other_delta, 1});
  }
  map.Sort();
  return map;
}

void ImageMap::Sort() {
  const auto by_captured = [](const ImagePart& one, const ImagePart& other) {
    return one.captured < other.captured;
  };
  std::sort(data_.begin(), data_.end(), by_captured);
  std::sort(places_.begin(), places_.end(), by_captured);
  // Two names for the same bytes (aliases) are restored once.
  const auto overlap = [](const ImagePart& one, const ImagePart& other) {
    return other.captured < one.captured + one.size;
  };
  data_.erase(std::unique(data_.begin(), data_.end(), overlap), data_.end());
  here_ = places_;
  std::sort(here_.begin(), here_.end(),
            [](const ImagePart& one, const ImagePart& other) { return one.here < other.here; });
}

std::optional<uint64_t> ImageMap::Here(uint64_t captured) const {
  const ImagePart* const part = Find(places_, &ImagePart::captured, captured);
  if (part == nullptr) return std::nullopt;
  return part->here + (captured - part->captured);
}

std::optional<uint64_t> ImageMap::Captured(uint64_t here) const {
  const ImagePart* const part = Find(here_, &ImagePart::here, here);
  if (part == nullptr) return std::nullopt;
  return part->captured + (here - part->here);
}

size_t ImageMap::MoveHere(std::span<std::byte> bytes, uint64_t address) const {
  return MoveWords(bytes, address, [this](uint64_t word) { return Here(word); });
}

size_t ImageMap::MoveBack(std::span<std::byte> bytes, uint64_t address) const {
  return MoveWords(bytes, address, [this](uint64_t word) { return Captured(word); });
}

}  // namespace rochound::capture::replay
