// SPDX-License-Identifier: MIT
//
// A bundle that is read: the launch, its code object and kernarg bytes, and the memory before and
// after it. Offline code. Open checks everything but the memory's bytes, and each extent of these
// is checked when it is read, so whatever comes out of here is what the writer put in; a bundle may
// come from anybody, and what cannot be true is refused with its reason. File names are fixed,
// symbolic links inside the directory are not followed, and nothing is allocated on a file's word
// alone. Reads may come from several threads at once; each keeps at most one extent for its next
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "capture/layout.h"
#include "capture/manifest.h"

namespace rochound::capture {

inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Bundle {
 public:
  static base::Result<Bundle> Open(const std::filesystem::path& path);

  Bundle(Bundle&&) noexcept;
  Bundle& operator=(Bundle&&) noexcept;
  ~Bundle();

  const std::filesystem::path& path() const;
  const Manifest& manifest() const;
  std::span<const std::byte> kernarg() const;
  std::span<const std::byte> code_object() const;

  // A part of a taken region's memory; pages that are not stored are zeros, or, after the launch,
  // what they were before it.
  base::Result<void> ReadBefore(uint32_t region, uint64_t offset, std::span<std::byte> into) const;
  base::Result<void> ReadAfter(uint32_t region, uint64_t offset, std::span<std::byte> into) const;

  // For callers that move big memory by extents, in the order of offsets. No extent crosses a
  // multiple of kChunkBytes in its region.
  std::span<const Extent> before(uint32_t region) const;
  std::span<const Extent> after(uint32_t region) const;
  std::span<const Extent> extents(Phase phase) const;

  // A whole extent, one of this bundle's: its bytes, or, as they are in the file, its stored
  // ones.
  base::Result<void> ReadExtent(Phase phase, const Extent& extent, std::span<std::byte> into) const;
  base::Result<void> ReadStored(Phase phase, const Extent& extent, std::span<std::byte> into) const;

  // Of both data files together.
  uint64_t stored_bytes() const;

  // Reads all memory once; progress gets the number of stored bytes read so far.
  base::Result<void> Verify(const std::function<void(uint64_t)>& progress = {}) const;

 private:
  struct State;
  explicit Bundle(std::unique_ptr<State> state);

  base::Result<void> ReadPhase(Phase phase, uint32_t region, uint64_t offset,
                               std::span<std::byte> into) const;
  base::Result<void> CheckPart(uint32_t region, uint64_t offset, size_t bytes) const;

  std::unique_ptr<State> state_;
};

}  // namespace rochound::capture
