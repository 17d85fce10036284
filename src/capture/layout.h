// SPDX-License-Identifier: MIT
//
// How a bundle's files are laid out, for the writer, the packer and the reader;
// docs/formats/capture-bundle.md says it in words. Numbers are little-endian. Whatever is here was
// written to disk and is never reshaped. Plain values, any thread.
#pragma once

#include <array>
#include <cstdint>

namespace rochound::capture {

// The names are fixed: none is ever taken from a file.
inline constexpr const char* kManifestName = "manifest.json";
inline constexpr const char* kCodeObjectName = "code_object.elf";
inline constexpr const char* kKernargName = "kernarg.bin";
inline constexpr const char* kBeforeIndexName = "before.index";
inline constexpr const char* kBeforeDataName = "before.data";
inline constexpr const char* kAfterIndexName = "after.index";
inline constexpr const char* kAfterDataName = "after.data";
inline constexpr const char* kChecksumsName = "checksums";

// In the order in which they are in the file of checksums.
inline constexpr std::array<const char*, 7> kFileNames = {
    kManifestName,   kCodeObjectName, kKernargName,  kBeforeIndexName,
    kBeforeDataName, kAfterIndexName, kAfterDataName};

inline constexpr uint64_t kPageBytes = 4096;
// No extent crosses a multiple of this within its region.
inline constexpr uint64_t kChunkBytes = 4 << 20;

enum class Phase : uint32_t { kBefore = 0, kAfter = 1 };

enum class Encoding : uint32_t {
  kRaw = 0,
  kZstd = 1,   // one or more frames that make exactly the extent's bytes
  kZeros = 2,  // nothing is stored; only in after.index, where pages were zeroed
};

struct IndexHeader {
  char magic[8];
  uint32_t version;
  uint32_t page_bytes;
  Phase phase;
  uint32_t zero;
  uint64_t count;  // of extents, which follow
};
static_assert(sizeof(IndexHeader) == 32);

inline constexpr char kIndexMagic[8] = {'r', 'h', 'I', 'n', 'd', 'e', 'x', '\n'};
inline constexpr uint32_t kBundleVersion = 1;  // of indexes and the file of checksums

struct Extent {
  uint32_t region;    // index into the manifest's regions
  Encoding encoding;  //
  uint64_t offset;    // in the region, a multiple of the page size
  uint64_t bytes;     // whole pages, or up to the region's end
  uint64_t place;     // in the data file: where the extent before it ends; zeros: 0
  uint64_t stored;    // bytes in the data file; zeros: 0
  uint64_t checksum;  // XXH3 (64 bits, seed 0) of the stored bytes; zeros: 0
};
static_assert(sizeof(Extent) == 48);

inline uint64_t End(const Extent& extent) { return extent.offset + extent.bytes; }

}  // namespace rochound::capture
