// SPDX-License-Identifier: MIT
//
// The directory of a bundle that is being made: PATH.partial, mode 0700, with files of mode 0600,
// which becomes PATH when it is complete. Used by the writer inside somebody's program and by the
// packer; one thread at a time. Every write is checked; after the first failure all calls return
// false and error() says what happened. What is not finished is removed by the destructor (not in a
// child process that inherited it). Throws nothing but bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "capture/layout.h"

namespace rochound::capture {

// What the file of checksums says about each of kFileNames. A data file's checksum is 0 and not
// written: each extent has its own.
struct FileLine {
  uint64_t bytes = 0;
  uint64_t checksum = 0;
};
using FileLines = std::array<FileLine, kFileNames.size()>;
std::string ChecksumsText(const FileLines& lines);

class BundleDirectory {
 public:
  BundleDirectory() = default;
  BundleDirectory(const BundleDirectory&) = delete;
  BundleDirectory& operator=(const BundleDirectory&) = delete;
  ~BundleDirectory();

  bool Make(const std::string& path);

  // Adds to the end of the phase's data file.
  bool AppendData(Phase phase, std::span<const std::byte> bytes);
  uint64_t DataBytes(Phase phase) const { return data_bytes_[static_cast<size_t>(phase)]; }
  // Reads back what was appended.
  bool ReadData(Phase phase, uint64_t place, std::span<std::byte> into);

  // Everything else, once each, then the checksums, and the rename that makes it a bundle.
  bool WriteManifest(std::string_view json);
  bool WriteCodeObject(std::span<const std::byte> bytes);
  bool WriteKernarg(std::span<const std::byte> bytes);
  bool WriteIndex(Phase phase, std::span<const Extent> extents);
  bool Finish();

  const std::string& error() const { return error_; }
  bool Fail(const std::string& message);

 private:
  bool FailAt(const char* doing, const char* name, int error_number);
  int CreateFile(const char* name);
  bool Append(int fd, const char* name, std::span<const std::byte> bytes);
  bool SyncAndClose(int* fd, const char* name);
  // A file in two pieces, which may be empty, and its line.
  bool WriteWhole(const char* name, std::span<const std::byte> head,
                  std::span<const std::byte> rest);
  void Remove();

  std::string path_;     // of the finished bundle
  std::string partial_;  // of this directory; empty: nothing to remove
  int directory_ = -1;
  int data_[2] = {-1, -1};
  uint64_t data_bytes_[2] = {0, 0};
  FileLines lines_;
  int process_ = 0;
  std::string error_;
};

}  // namespace rochound::capture
