// SPDX-License-Identifier: MIT
//
// A file that is written from its beginning to its end and appears under its name only when it is
// complete, gzipped on the way if that name ends in .gz. Used by the exports; one thread. The first
// failed write is remembered, the rest dropped, and Finish tells; without Finish nothing is left
// after.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"

namespace rochound::store {

class OutputFile {
 public:
  static base::Result<OutputFile> Create(const std::filesystem::path& path);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Append to it, then call Written.
  std::string* buffer() { return &buffer_; }
  void Written() {
    if (buffer_.size() >= kWriteBytes) Flush(false);
  }
  bool broken() const;
  // Puts the file in its place.
  base::Result<void> Finish();

 private:
  static constexpr size_t kWriteBytes = 1 << 17;
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  void Flush(bool last);

  std::unique_ptr<State> state_;
  std::string buffer_;
};

}  // namespace rochound::store
