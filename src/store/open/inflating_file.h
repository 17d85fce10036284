// SPDX-License-Identifier: MIT
//
// Reads a file from its beginning to its end in pieces, inflating it on the way if it is gzipped
// (told by its first bytes, not by its name; several members one after the other are one stream).
// Called by readers of foreign traces, one thread. A damaged or cut-off stream gives what could be
// read and then an error; a file that cannot be read at all is an error from Open.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rochound::store {

class InflatingFile {
 public:
  static base::Result<InflatingFile> Open(const std::filesystem::path& path);
  InflatingFile(InflatingFile&&) noexcept;
  InflatingFile& operator=(InflatingFile&&) = delete;
  ~InflatingFile();

  // The next piece, which lives until the next call; empty at the end.
  base::Result<std::string_view> Next();

  // How far this is: bytes of the file, as it is on disk.
  uint64_t bytes_read() const;
  uint64_t file_bytes() const;

 private:
  struct State;
  explicit InflatingFile(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace rochound::store
