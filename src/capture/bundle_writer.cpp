// SPDX-License-Identifier: MIT
#include "capture/bundle_writer.h"

#include <string.h>

#include <algorithm>
#include <optional>

namespace rochound::capture {
namespace {

// What is copied, looked at, summed and written at a time: it has to stay in the core's own cache.
constexpr size_t kPieceBytes = 128 << 10;
static_assert(kChunkBytes % kPieceBytes == 0);

bool IsZero(std::span<const std::byte> bytes) {
  // memcmp against itself shifted by one compares at full speed and needs no page of zeros.
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace

BundleWriter::BundleWriter()
    : copy_(new std::byte[kPieceBytes]), earlier_(new std::byte[kPieceBytes]) {}

std::unique_ptr<BundleWriter> BundleWriter::Create(const std::string& path, std::string* error) {
  std::unique_ptr<BundleWriter> writer(new BundleWriter);
  if (writer->directory_.Make(path)) return writer;
  *error = writer->error();
  return nullptr;
}

bool BundleWriter::AddRegionBytes(Phase phase, uint32_t region, uint64_t offset,
                                  std::span<const std::byte> bytes) {
  if (!error().empty()) return false;
  if (phase != phase_) {
    if (phase == Phase::kBefore)
      return directory_.Fail("memory before the launch was added after memory that follows it");
    CloseExtent();
    phase_ = phase;
    next_region_ = next_offset_ = 0;
  }
  if (offset % kPageBytes != 0 || offset + bytes.size() < offset)
    return directory_.Fail("a piece of memory does not begin at a page");
  if (region < next_region_ || (region == next_region_ && offset < next_offset_))
    return directory_.Fail("pieces of memory were not added in ascending order");
  if (region == next_region_ && next_offset_ % kPageBytes != 0)
    return directory_.Fail("a piece of memory follows the region's end");
  next_region_ = region;
  next_offset_ = offset + bytes.size();

  while (!bytes.empty()) {
    const size_t now = std::min<size_t>(bytes.size(), kPieceBytes - offset % kPieceBytes);
    memcpy(copy_.get(), bytes.data(), now);
    const std::span<const std::byte> piece(copy_.get(), now);
    if (!(phase == Phase::kBefore ? AddBefore(region, offset, piece)
                                  : AddAfter(region, offset, piece)))
      return false;
    bytes = bytes.subspan(now);
    offset += now;
  }
  return true;
}

template <typename Classify>
bool BundleWriter::AddPages(uint32_t region, uint64_t offset, std::span<const std::byte> piece,
                            Classify classify) {
  std::optional<Encoding> run;  // of the pages from begin on; none: they are not stored
  size_t begin = 0;
  const auto add = [&](size_t end) {
    return !run || AddRun(*run, region, offset + begin, piece.subspan(begin, end - begin));
  };
  for (size_t at = 0; at < piece.size(); at += kPageBytes) {
    const size_t page = std::min<size_t>(kPageBytes, piece.size() - at);
    const std::optional<Encoding> encoding = classify(at, piece.subspan(at, page));
    if (encoding == run) continue;
    if (!add(at)) return false;
    run = encoding;
    begin = at;
  }
  return add(piece.size());
}

bool BundleWriter::AddBefore(uint32_t region, uint64_t offset, std::span<const std::byte> piece) {
  return AddPages(region, offset, piece,
                  [](size_t, std::span<const std::byte> page) -> std::optional<Encoding> {
                    if (IsZero(page)) return std::nullopt;
                    return Encoding::kRaw;
                  });
}

bool BundleWriter::AddAfter(uint32_t region, uint64_t offset, std::span<const std::byte> piece) {
  const std::span<std::byte> earlier(earlier_.get(), piece.size());
  if (!ReadBack(region, offset, earlier)) return false;
  // The usual case first: most memory is not written by most launches.
  if (memcmp(earlier.data(), piece.data(), piece.size()) == 0) return true;
  return AddPages(region, offset, piece,
                  [&](size_t at, std::span<const std::byte> page) -> std::optional<Encoding> {
                    if (memcmp(page.data(), earlier.data() + at, page.size()) == 0)
                      return std::nullopt;
                    return IsZero(page) ? Encoding::kZeros : Encoding::kRaw;
                  });
}

bool BundleWriter::AddRun(Encoding encoding, uint32_t region, uint64_t offset,
                          std::span<const std::byte> bytes) {
  const bool continues = open_ && extents().back().region == region &&
                         extents().back().encoding == encoding && End(extents().back()) == offset &&
                         offset % kChunkBytes != 0;
  if (!continues) {
    CloseExtent();
    extents().push_back({.region = region,
                         .encoding = encoding,
                         .offset = offset,
                         .bytes = 0,
                         .place = encoding == Encoding::kZeros ? 0 : directory_.DataBytes(phase_),
                         .stored = 0,
                         .checksum = 0});
    open_ = true;
  }
  Extent& extent = extents().back();
  extent.bytes += bytes.size();
  if (encoding == Encoding::kZeros) return true;
  checksum_.Add(bytes);
  extent.stored += bytes.size();
  return directory_.AppendData(phase_, bytes);
}

void BundleWriter::CloseExtent() {
  if (!open_) return;
  open_ = false;
  if (extents().back().encoding == Encoding::kZeros) return;
  extents().back().checksum = checksum_.Value();
  checksum_.Reset();
}

// The region's bytes as they were stored before the launch.
bool BundleWriter::ReadBack(uint32_t region, uint64_t offset, std::span<std::byte> into) {
  const std::vector<Extent>& before = extents_[0];
  const auto precedes = [&](const Extent& extent) {
    return extent.region < region || (extent.region == region && End(extent) <= offset);
  };
  while (cursor_ < before.size() && precedes(before[cursor_])) ++cursor_;
  const uint64_t end = offset + into.size();
  uint64_t filled = offset;
  for (size_t i = cursor_; filled < end; ++i) {
    const bool more = i < before.size() && before[i].region == region && before[i].offset < end;
    const uint64_t from = more ? std::max(before[i].offset, offset) : end;
    memset(into.data() + (filled - offset), 0, from - filled);
    if (!more) break;
    const uint64_t to = std::min(End(before[i]), end);
    if (!directory_.ReadData(Phase::kBefore, before[i].place + (from - before[i].offset),
                             into.subspan(from - offset, to - from)))
      return false;
    filled = to;
  }
  return true;
}

// The memory that came against the regions that the manifest names: what the reader would refuse is
// better found while somebody can still do something about it.
bool BundleWriter::Check(const Manifest& manifest) {
  const std::string implausible = Implausible(manifest);
  if (!implausible.empty()) return directory_.Fail("the manifest cannot be true: " + implausible);
  for (const std::vector<Extent>& extents : extents_) {
    for (const Extent& extent : extents) {
      if (extent.region >= manifest.regions.size() || !manifest.regions[extent.region].taken)
        return directory_.Fail("memory was added for a region that the manifest does not take");
      const uint64_t size = manifest.regions[extent.region].size;
      if (End(extent) > size || (extent.bytes % kPageBytes != 0 && End(extent) != size))
        return directory_.Fail("memory was added that does not fit region " +
                               std::to_string(extent.region));
    }
  }
  return true;
}

bool BundleWriter::Finish(const Manifest& manifest, std::span<const std::byte> kernarg,
                          std::span<const std::byte> code_object) {
  if (!error().empty()) return false;
  CloseExtent();
  if (!Check(manifest)) return false;
  if (kernarg.size() != manifest.launch.kernarg_bytes)
    return directory_.Fail("the kernarg segment has another size than the manifest says");
  return directory_.WriteManifest(ToJson(manifest)) && directory_.WriteKernarg(kernarg) &&
         directory_.WriteCodeObject(code_object) &&
         directory_.WriteIndex(Phase::kBefore, extents_[0]) &&
         directory_.WriteIndex(Phase::kAfter, extents_[1]) && directory_.Finish();
}

}  // namespace rochound::capture
