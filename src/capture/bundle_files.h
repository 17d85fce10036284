// SPDX-License-Identifier: MIT
//
// Opening a bundle's files and believing nothing in them: used by Bundle::Open alone, on its
// thread. Errors name the file. Callers own what is returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "capture/bundle_directory.h"
#include "capture/layout.h"
#include "capture/manifest.h"

namespace rochound::capture {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_;
};

class BundleFiles {
 public:
  static base::Result<BundleFiles> Open(const std::filesystem::path& path);

  // The whole file, checked against its line in the file of checksums.
  base::Result<std::vector<std::byte>> Read(const char* name) const;

  // The phase's index, each extent checked against the regions and the data file's size.
  base::Result<std::vector<Extent>> ReadIndex(Phase phase,
                                              const std::vector<Region>& regions) const;

  // Open for reading; its size is right.
  base::Result<Descriptor> OpenData(Phase phase) const;

 private:
  base::Result<Descriptor> OpenFile(const char* name) const;
  const FileLine& Line(const char* name) const;
  base::Error Wrong(const char* name, const std::string& what) const;

  std::filesystem::path path_;
  Descriptor directory_;
  FileLines lines_;
};

// Exactly these bytes of the file; false with errno set (0: the file ends before).
bool ReadFully(int fd, uint64_t place, std::span<std::byte> into);

}  // namespace rochound::capture
