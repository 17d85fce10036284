// SPDX-License-Identifier: MIT
//
// Makes a bundle with uncompressed data, inside the program whose launch is captured: libc and
// inline xxHash only. One thread at a time. First all memory before the launch, then all memory
// after it, then Finish; a writer that is destroyed without a good Finish removes what it made.
// Nothing is thrown but bad_alloc. After the first failure every call returns false, and error()
// says why.
//
// The bytes are copied piece by piece before they are looked at, so memory that another thread
// changes meanwhile gives some state of it, and never a bundle that contradicts itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capture/bundle_directory.h"
#include "capture/checksum.h"
#include "capture/layout.h"
#include "capture/manifest.h"

namespace rochound::capture {

class BundleWriter {
 public:
  // Makes PATH.partial, mode 0700. Null, and why in *error, if PATH is there already or cannot be
  // made.
  static std::unique_ptr<BundleWriter> Create(const std::string& path, std::string* error);

  // A piece of a region's memory. Pieces come in ascending order of (region, offset) within a
  // phase; offset is a multiple of the page size, and so is the size unless the piece ends its
  // region. Zero pages are not stored. After the launch only what differs from before is: pages
  // that were not given before count as zeros.
  bool AddRegionBytes(Phase phase, uint32_t region, uint64_t offset,
                      std::span<const std::byte> bytes);

  // Writes everything else and makes the bundle appear at PATH.
  bool Finish(const Manifest& manifest, std::span<const std::byte> kernarg,
              std::span<const std::byte> code_object);

  uint64_t stored_bytes() const {
    return directory_.DataBytes(Phase::kBefore) + directory_.DataBytes(Phase::kAfter);
  }
  const std::string& error() const { return directory_.error(); }

 private:
  BundleWriter();

  bool AddBefore(uint32_t region, uint64_t offset, std::span<const std::byte> piece);
  bool AddAfter(uint32_t region, uint64_t offset, std::span<const std::byte> piece);
  // The pages in runs of one encoding, as classify(offset in piece, page) says.
  template <typename Classify>
  bool AddPages(uint32_t region, uint64_t offset, std::span<const std::byte> piece,
                Classify classify);
  // A run of pages of one encoding: continues the open extent or begins another.
  bool AddRun(Encoding encoding, uint32_t region, uint64_t offset,
              std::span<const std::byte> bytes);
  void CloseExtent();
  bool ReadBack(uint32_t region, uint64_t offset, std::span<std::byte> into);
  bool Check(const Manifest& manifest);

  std::vector<Extent>& extents() { return extents_[static_cast<size_t>(phase_)]; }

  BundleDirectory directory_;
  Phase phase_ = Phase::kBefore;
  std::vector<Extent> extents_[2];
  bool open_ = false;  // the last of extents() can still grow
  RunningChecksum checksum_;
  size_t cursor_ = 0;  // the first extent of before that may reach past what came last in after
  uint64_t next_region_ = 0;
  uint64_t next_offset_ = 0;
  std::unique_ptr<std::byte[]> copy_;
  std::unique_ptr<std::byte[]> earlier_;
};

}  // namespace rochound::capture
