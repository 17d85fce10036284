// SPDX-License-Identifier: MIT
#include "capture/bundle.h"

#include <string.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "capture/bundle_files.h"
#include "capture/checksum.h"

namespace rochound::capture {

using base::Error;
using base::Result;

struct Bundle::State {
  std::filesystem::path path;
  uint64_t id = 0;  // of this open bundle in this process
  Manifest manifest;
  std::vector<std::byte> kernarg;
  std::vector<std::byte> code_object;
  std::vector<Extent> extents[2];
  Descriptor data[2];
};

namespace {

// The extent that a thread read last, for reads that take it in parts.
struct LastExtent {
  uint64_t bundle = 0;  // 0: none
  const Extent* extent = nullptr;
  std::vector<std::byte> bytes;
};
thread_local LastExtent last_extent;

struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_DCtx* Decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  return context.get();
}

std::span<const Extent> OfRegion(const std::vector<Extent>& extents, uint32_t region) {
  const auto first = std::partition_point(
      extents.begin(), extents.end(), [region](const Extent& one) { return one.region < region; });
  const auto last = std::partition_point(
      first, extents.end(), [region](const Extent& one) { return one.region == region; });
  return {first, last};
}

}  // namespace

Bundle::Bundle(std::unique_ptr<State> state) : state_(std::move(state)) {}
Bundle::Bundle(Bundle&&) noexcept = default;
Bundle& Bundle::operator=(Bundle&&) noexcept = default;
Bundle::~Bundle() = default;

Result<Bundle> Bundle::Open(const std::filesystem::path& path) {
  static std::atomic<uint64_t> counter{0};
  ROCHOUND_TRY(const BundleFiles files, BundleFiles::Open(path));
  auto state = std::make_unique<State>();
  state->path = path;
  state->id = ++counter;
  ROCHOUND_TRY(const std::vector<std::byte> json, files.Read(kManifestName));
  auto manifest = FromJson(AsText(json));
  if (!manifest.ok()) return manifest.error().In("'" + (path / kManifestName).string() + "'");
  state->manifest = std::move(manifest).value();
  ROCHOUND_TRY(state->kernarg, files.Read(kKernargName));
  if (state->kernarg.size() != state->manifest.launch.kernarg_bytes) {
    return Error{"'" + (path / kKernargName).string() + "' has " +
                 std::to_string(state->kernarg.size()) + " bytes, and the manifest says " +
                 std::to_string(state->manifest.launch.kernarg_bytes)};
  }
  ROCHOUND_TRY(state->code_object, files.Read(kCodeObjectName));
  for (const Phase phase : {Phase::kBefore, Phase::kAfter}) {
    const auto number = static_cast<size_t>(phase);
    ROCHOUND_TRY(state->extents[number], files.ReadIndex(phase, state->manifest.regions));
    ROCHOUND_TRY(state->data[number], files.OpenData(phase));
  }
  return Bundle(std::move(state));
}

const std::filesystem::path& Bundle::path() const { return state_->path; }
const Manifest& Bundle::manifest() const { return state_->manifest; }
std::span<const std::byte> Bundle::kernarg() const { return state_->kernarg; }
std::span<const std::byte> Bundle::code_object() const { return state_->code_object; }

std::span<const Extent> Bundle::extents(Phase phase) const {
  return state_->extents[static_cast<size_t>(phase)];
}
std::span<const Extent> Bundle::before(uint32_t region) const {
  return OfRegion(state_->extents[0], region);
}
std::span<const Extent> Bundle::after(uint32_t region) const {
  return OfRegion(state_->extents[1], region);
}

uint64_t Bundle::stored_bytes() const {
  uint64_t bytes = 0;
  for (const auto& extents : state_->extents) {
    for (const Extent& extent : extents) bytes += extent.stored;
  }
  return bytes;
}

Result<void> Bundle::ReadStored(Phase phase, const Extent& extent,
                                std::span<std::byte> into) const {
  const char* const name = phase == Phase::kBefore ? kBeforeDataName : kAfterDataName;
  const auto wrong = [&](const std::string& what) {
    return Error{"'" + (state_->path / name).string() + "' " + what + " (region " +
                 std::to_string(extent.region) + ", offset " + std::to_string(extent.offset) +
                 ", " + std::to_string(extent.bytes) + " bytes); the bundle is damaged"};
  };
  if (into.size() != extent.stored) return wrong("was asked for another size than is stored");
  if (!ReadFully(state_->data[static_cast<size_t>(phase)].get(), extent.place, into)) {
    return wrong(errno == 0 ? "became shorter"
                            : "cannot be read: " + std::generic_category().message(errno));
  }
  if (extent.stored != 0 && Checksum(into) != extent.checksum)
    return wrong("has other content than was written: its checksum differs");
  return {};
}

Result<void> Bundle::ReadExtent(Phase phase, const Extent& extent,
                                std::span<std::byte> into) const {
  if (into.size() != extent.bytes) return Error{"an extent is read as a whole or not at all"};
  if (extent.encoding == Encoding::kZeros) {
    std::fill(into.begin(), into.end(), std::byte{0});
    return {};
  }
  if (extent.encoding == Encoding::kRaw) return ReadStored(phase, extent, into);
  thread_local std::vector<std::byte> stored;
  stored.resize(extent.stored);  // less than an extent's bytes, as Open has seen
  ROCHOUND_CHECK(ReadStored(phase, extent, stored));
  ZSTD_DCtx* const context = Decompressor();
  if (context == nullptr) return Error{"not enough memory to decompress"};
  // Never writes more than the extent has, whatever the compressed bytes say.
  const size_t made =
      ZSTD_decompressDCtx(context, into.data(), into.size(), stored.data(), stored.size());
  if (ZSTD_isError(made) != 0 || made != into.size()) {
    return Error{"'" + state_->path.string() + "': an extent of region " +
                 std::to_string(extent.region) + " cannot be decompressed to its " +
                 std::to_string(extent.bytes) + " bytes (" +
                 (ZSTD_isError(made) != 0 ? ZSTD_getErrorName(made) : "it is shorter") +
                 "); the bundle is damaged"};
  }
  return {};
}

Result<void> Bundle::CheckPart(uint32_t region, uint64_t offset, size_t bytes) const {
  if (region >= state_->manifest.regions.size())
    return Error{"the bundle has no region " + std::to_string(region)};
  const Region& known = state_->manifest.regions[region];
  if (!known.taken) {
    return Error{"region " + std::to_string(region) +
                 " was not taken into the bundle; capture again with --memory all"};
  }
  if (offset > known.size || bytes > known.size - offset) {
    return Error{"region " + std::to_string(region) + " has only " + std::to_string(known.size) +
                 " bytes"};
  }
  return {};
}

// Puts the stored bytes of one phase over what is in the buffer.
Result<void> Bundle::ReadPhase(Phase phase, uint32_t region, uint64_t offset,
                               std::span<std::byte> into) const {
  const std::span<const Extent> extents =
      OfRegion(state_->extents[static_cast<size_t>(phase)], region);
  const uint64_t end = offset + into.size();
  auto extent = std::partition_point(extents.begin(), extents.end(),
                                     [&](const Extent& one) { return End(one) <= offset; });
  for (; extent != extents.end() && extent->offset < end; ++extent) {
    const uint64_t from = std::max(offset, extent->offset);
    const uint64_t to = std::min(end, End(*extent));
    const std::span<std::byte> part = into.subspan(from - offset, to - from);
    if (part.size() == extent->bytes) {
      ROCHOUND_CHECK(ReadExtent(phase, *extent, part));
      continue;
    }
    LastExtent& last = last_extent;
    if (last.bundle != state_->id || last.extent != &*extent) {
      last.bundle = 0;
      last.bytes.resize(extent->bytes);
      ROCHOUND_CHECK(ReadExtent(phase, *extent, last.bytes));
      last.bundle = state_->id;
      last.extent = &*extent;
    }
    memcpy(part.data(), last.bytes.data() + (from - extent->offset), part.size());
  }
  return {};
}

Result<void> Bundle::ReadBefore(uint32_t region, uint64_t offset, std::span<std::byte> into) const {
  ROCHOUND_CHECK(CheckPart(region, offset, into.size()));
  std::fill(into.begin(), into.end(), std::byte{0});
  return ReadPhase(Phase::kBefore, region, offset, into);
}

Result<void> Bundle::ReadAfter(uint32_t region, uint64_t offset, std::span<std::byte> into) const {
  ROCHOUND_CHECK(ReadBefore(region, offset, into));
  return ReadPhase(Phase::kAfter, region, offset, into);
}

Result<void> Bundle::Verify(const std::function<void(uint64_t)>& progress) const {
  std::vector<std::byte> bytes;
  uint64_t done = 0;
  for (const Phase phase : {Phase::kBefore, Phase::kAfter}) {
    for (const Extent& extent : extents(phase)) {
      bytes.resize(extent.bytes);
      ROCHOUND_CHECK(ReadExtent(phase, extent, bytes));
      done += extent.stored;
      if (progress) progress(done);
    }
  }
  return {};
}

}  // namespace rochound::capture
