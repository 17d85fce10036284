// SPDX-License-Identifier: MIT
#include "capture/replay/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "capture/replay/read_ahead.h"

namespace rochound::capture::replay {
namespace {

using base::Result;

static_assert(Copier::kChunk == kChunkBytes, "chunks are filled extent by extent");

uint64_t AddressOf(const std::byte* pointer) {
  return reinterpret_cast<uint64_t>(pointer);  // NOLINT: the GPU sees it at the same address
}

}  // namespace

Memory::Memory(const Bundle& bundle, Runtime& runtime, const Gpu& gpu, Copier& copier)
    : bundle_(bundle), runtime_(runtime), gpu_(gpu), copier_(copier) {
  const int32_t region = RegionAt(regions(), bundle.manifest().code_object.loaded.base);
  if (region >= 0 && regions()[region].taken && regions()[region].kind == "code_object")
    image_region_ = region;
  for (uint32_t i = 0; i < regions().size(); ++i) {
    if (!regions()[i].taken || static_cast<int32_t>(i) == image_region_) continue;
    for (const Extent& extent : bundle.after(i))
      changed_.Add(regions()[i].base + extent.offset, extent.bytes);
  }
  changed_.Join(regions());
}

Result<void> Memory::FillAll(const Progress& progress) {
  // What is stored comes through the host, everything else is zeros.
  std::vector<ReadAhead::Chunk> stored;
  for (uint32_t i = 0; i < regions().size(); ++i) {
    const Region& region = regions()[i];
    if (!region.taken) continue;
    const std::span<const Extent> extents = bundle_.before(i);
    size_t next = 0;
    uint64_t zeros = 0;  // where they began
    for (uint64_t offset = 0; offset < region.size; offset += kChunkBytes) {
      const uint64_t size = std::min(kChunkBytes, region.size - offset);
      while (next < extents.size() && End(extents[next]) <= offset) ++next;
      if (next == extents.size() || extents[next].offset >= offset + size) continue;
      stored.push_back({i, offset, size});
      if (zeros < offset) ROCHOUND_CHECK(copier_.WriteZeros(region.base + zeros, offset - zeros));
      zeros = offset + size;
    }
    if (zeros < region.size)
      ROCHOUND_CHECK(copier_.WriteZeros(region.base + zeros, region.size - zeros));
  }
  ReadAhead ahead(bundle_, Phase::kBefore, stored);
  for (size_t i = 0; i < stored.size(); ++i) {
    const auto bytes = ahead.Next();
    damaged_ |= !bytes.ok();
    if (!bytes.ok()) return bytes.error();
    ROCHOUND_CHECK(
        copier_.Queue(regions()[stored[i].region].base + stored[i].offset, bytes.value()));
    if (progress) progress(static_cast<double>(i) / static_cast<double>(stored.size()));
  }
  return copier_.Flush();
}

Result<void> Memory::ImageBytes(const Image& image, const ImagePart& part,
                                std::vector<std::byte>* bytes) const {
  const Region& region = regions()[image_region_];
  if (part.captured < region.base || part.captured + part.size > region.base + region.size) {
    return base::Error{
        fmt::format("the code object's data at {:#x} is outside of its image", part.captured)};
  }
  bytes->resize(part.size);
  ROCHOUND_CHECK(Read(static_cast<uint32_t>(image_region_), part.captured - region.base, *bytes,
                      Phase::kBefore));
  image.map.MoveHere(*bytes, part.captured);
  return {};
}

Result<void> Memory::FillImage(Image* image) {
  if (image_region_ < 0) return {};
  image->changes = !bundle_.after(static_cast<uint32_t>(image_region_)).empty();
  std::vector<std::byte> bytes;
  for (const ImagePart& part : image->map.data()) {
    ROCHOUND_CHECK(ImageBytes(*image, part, &bytes));
    ROCHOUND_CHECK(copier_.Write(part.here, bytes));
  }
  return {};
}

Result<void> Memory::RestoreImage(Image* image) {
  if (image->restore.empty()) {
    uint64_t total = 0;
    for (const ImagePart& part : image->map.data()) total += part.size;
    ROCHOUND_TRY(std::byte * copy, runtime_.AllocateDevice(gpu_, std::max<uint64_t>(total, 1)));
    uint64_t place = AddressOf(copy);
    std::vector<std::byte> bytes;
    for (const ImagePart& part : image->map.data()) {
      ROCHOUND_CHECK(ImageBytes(*image, part, &bytes));
      ROCHOUND_CHECK(copier_.Write(place, bytes));
      image->restore.push_back({part.here, place, part.size});
      place += part.size;
    }
  }
  return copier_.Move(image->restore);
}

Result<void> Memory::Apply(std::span<const Patch> patches) {
  for (const Patch& patch : patches) {
    patches_.push_back(patch);
    std::byte bytes[sizeof(patch.here)];
    memcpy(bytes, &patch.here, sizeof(bytes));
    ROCHOUND_CHECK(copier_.Write(patch.address, bytes));
  }
  return {};
}

Result<void> Memory::Read(uint32_t region, uint64_t offset, std::span<std::byte> into,
                          Phase phase) const {
  auto read = phase == Phase::kBefore ? bundle_.ReadBefore(region, offset, into)
                                      : bundle_.ReadAfter(region, offset, into);
  damaged_ |= !read.ok();
  return read;
}

void Memory::Overlay(uint64_t address, std::span<std::byte> bytes) const {
  for (const Patch& patch : patches_) {
    if (patch.address < address || patch.address + 8 > address + bytes.size()) continue;
    std::byte* const word = bytes.data() + (patch.address - address);
    // What the launch itself changed is expected as it was.
    if (memcmp(word, &patch.captured, sizeof(patch.captured)) == 0)
      memcpy(word, &patch.here, sizeof(patch.here));
  }
}

Result<void> Memory::Expected(uint32_t region, uint64_t offset, std::span<std::byte> into,
                              Phase phase) const {
  ROCHOUND_CHECK(Read(region, offset, into, phase));
  Overlay(regions()[region].base + offset, into);
  return {};
}

// The program goes on writing arguments of other launches, so their pages are captured before only.
bool Memory::Comparable(uint32_t region) const {
  return regions()[region].kind != "kernarg" || !bundle_.after(region).empty();
}

Result<void> Memory::VerifyAll(Image* image, Differences* differences, const Progress& progress) {
  std::vector<ReadAhead::Chunk> chunks;
  for (uint32_t i = 0; i < regions().size(); ++i) {
    if (!regions()[i].taken || static_cast<int32_t>(i) == image_region_) continue;
    for (uint64_t offset = 0; offset < regions()[i].size; offset += kChunkBytes)
      chunks.push_back({i, offset, std::min(kChunkBytes, regions()[i].size - offset)});
  }
  Differences unknown(differences->rules());
  differences->set_poison(poison_);
  ReadAhead ahead(bundle_, Phase::kAfter, chunks);
  size_t done = 0;
  for (uint32_t i = 0; i < regions().size(); ++i) {
    if (!regions()[i].taken || static_cast<int32_t>(i) == image_region_) continue;
    const uint64_t base = regions()[i].base;
    Differences* const into = Comparable(i) ? differences : &unknown;
    ROCHOUND_CHECK(
        copier_.Read(base, regions()[i].size,
                     [&](uint64_t offset, std::span<const std::byte> got) -> Result<void> {
                       const auto expected = ahead.Next();
                       damaged_ |= !expected.ok();
                       if (!expected.ok()) return expected.error();
                       Overlay(base + offset, expected.value());
                       if (poison_ != nullptr) {
                         if (learn_) poison_->Learn(base + offset, expected.value(), got);
                         poison_->Expect(base + offset, expected.value());
                       }
                       into->Compare(i, base, base + offset, expected.value(), got, &image->map);
                       if (progress)
                         progress(static_cast<double>(++done) / static_cast<double>(chunks.size()));
                       return {};
                     }));
  }
  if (!unknown.pages().runs().empty() && notes_.empty())
    notes_.push_back(
        "the launch changes memory beside its arguments (a barrier, for example); what that was "
        "after the captured launch is not in the bundle, so it is not compared");
  changed_.Add(unknown.pages());
  changed_.Add(differences->pages());
  changed_.Join(regions());
  return VerifyImage(image, differences);
}

Result<void> Memory::VerifyChanged(Image* image, Differences* differences) {
  std::vector<std::byte> expected;
  for (const Range& run : changed_.runs()) {
    const auto region = static_cast<uint32_t>(RegionAt(regions(), run.base));
    if (!Comparable(region)) continue;
    const uint64_t base = regions()[region].base;
    ROCHOUND_CHECK(copier_.Read(
        run.base, run.size, [&](uint64_t at, std::span<const std::byte> got) -> Result<void> {
          expected.resize(got.size());
          ROCHOUND_CHECK(Expected(region, run.base - base + at, expected, Phase::kAfter));
          differences->Compare(region, base, run.base + at, expected, got, &image->map);
          return {};
        }));
  }
  return image->changes ? VerifyImage(image, differences) : Result<void>();
}

// The captured image is here twice: loaded, where the kernel's own accesses go, and as plain data
// at its captured address, where pointers go that were found in memory. A launch may have changed
// either.
Result<void> Memory::VerifyImage(Image* image, Differences* differences) {
  if (image_region_ < 0) return {};
  const auto index = static_cast<uint32_t>(image_region_);
  const Region& region = regions()[index];
  std::vector<std::byte> before, expected, got, loaded;
  for (const ImagePart& part : image->map.data()) {
    const uint64_t offset = part.captured - region.base;
    for (std::vector<std::byte>* bytes : {&before, &expected, &got, &loaded})
      bytes->resize(part.size);
    ROCHOUND_CHECK(Expected(index, offset, before, Phase::kBefore));
    ROCHOUND_CHECK(Expected(index, offset, expected, Phase::kAfter));
    ROCHOUND_CHECK(copier_.Read(part.captured, got));
    ROCHOUND_CHECK(copier_.Read(part.here, loaded));
    image->map.MoveBack(loaded, part.captured);
    if (memcmp(got.data(), before.data(), got.size()) != 0) changed_.Add(part.captured, part.size);
    for (size_t i = 0; i < part.size; ++i) {
      if (loaded[i] == before[i]) continue;
      got[i] = loaded[i];
      image->changes = true;
    }
    differences->Compare(index, region.base, part.captured, expected, got, nullptr);
  }
  changed_.Join(regions());
  return {};
}

bool Memory::captured_changes() const {
  for (uint32_t i = 0; i < regions().size(); ++i)
    if (!bundle_.after(i).empty()) return true;
  return false;
}

Result<void> Memory::ApplyPoison(Poison* poison, bool learn) {
  poison_ = poison;
  learn_ = learn;
  std::vector<std::byte> after;
  for (const Range& range : poison->ranges()) {
    const auto region = static_cast<uint32_t>(RegionAt(regions(), range.base));
    const uint64_t offset = range.base - regions()[region].base;
    ROCHOUND_CHECK(copier_.Write(
        range.base, range.size, [&](uint64_t at, std::span<std::byte> into) -> Result<void> {
          after.resize(into.size());
          ROCHOUND_CHECK(Expected(region, offset + at, into, Phase::kBefore));
          ROCHOUND_CHECK(Expected(region, offset + at, after, Phase::kAfter));
          poison->Apply(range.base + at, after, into);
          return {};
        }));
  }
  return {};
}

Result<void> Memory::RemovePoison() {
  const Poison* const poison = std::exchange(poison_, nullptr);
  for (const Range& range : poison->ranges()) {
    const auto region = static_cast<uint32_t>(RegionAt(regions(), range.base));
    const uint64_t offset = range.base - regions()[region].base;
    ROCHOUND_CHECK(
        copier_.Write(range.base, range.size, [&](uint64_t at, std::span<std::byte> into) {
          return Expected(region, offset + at, into, Phase::kBefore);
        }));
  }
  return {};
}

Result<void> Memory::PrepareRestore() {
  if (changed_.runs().size() == prepared_runs_ && changed_.bytes() == prepared_bytes_) return {};
  // An earlier copy on the GPU stays where it is until the process ends: this happens rarely.
  backup_ = nullptr;
  restore_.clear();
  prepared_runs_ = changed_.runs().size();
  prepared_bytes_ = changed_.bytes();
  auto backup = runtime_.AllocateDevice(gpu_, prepared_bytes_);
  if (!backup.ok()) {
    notes_.push_back(
        fmt::format("the {} bytes that a launch changes do not fit on the GPU a second time: they "
                    "are restored from the bundle, which is slow",
                    prepared_bytes_));
    return {};
  }
  uint64_t place = AddressOf(backup.value());
  for (const Range& run : changed_.runs()) {
    const auto region = static_cast<uint32_t>(RegionAt(regions(), run.base));
    const uint64_t offset = run.base - regions()[region].base;
    ROCHOUND_CHECK(copier_.Write(place, run.size, [&](uint64_t at, std::span<std::byte> into) {
      return Expected(region, offset + at, into, Phase::kBefore);
    }));
    restore_.push_back({run.base, place, run.size});
    place += run.size;
  }
  backup_ = backup.value();
  return {};
}

Result<void> Memory::Restore(Image* image) {
  if (image->changes) ROCHOUND_CHECK(RestoreImage(image));
  if (restores_on_gpu()) return copier_.Move(restore_);
  for (const Range& run : changed_.runs()) {
    const auto region = static_cast<uint32_t>(RegionAt(regions(), run.base));
    const uint64_t offset = run.base - regions()[region].base;
    ROCHOUND_CHECK(copier_.Write(run.base, run.size, [&](uint64_t at, std::span<std::byte> into) {
      return Expected(region, offset + at, into, Phase::kBefore);
    }));
  }
  return {};
}

}  // namespace rochound::capture::replay
