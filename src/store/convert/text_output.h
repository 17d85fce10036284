// SPDX-License-Identifier: MIT
//
// Lines of text to a file descriptor, gathered so that a line costs no system call. One thread. The
// first failed write is remembered, the rest is dropped, and Finish tells.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace rochound::store {

class TextOutput {
 public:
  // "-" is standard output. Creates or empties a file.
  static base::Result<TextOutput> Open(const std::filesystem::path& path);
  // A descriptor that stays its owner's; `name` is for messages.
  TextOutput(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  TextOutput(TextOutput&& other) noexcept;
  TextOutput& operator=(TextOutput&&) = delete;
  ~TextOutput();

  // Append to it, then call LineDone.
  std::string* buffer() { return &buffer_; }
  void LineDone() {
    if (buffer_.size() >= kWriteBytes) Flush();
  }
  // Writes what there is, for a reader who waits.
  void Flush();
  // Reports the first failure since Open. A reader that went away (EPIPE) is none.
  base::Result<void> Finish();
  // Nobody reads any more.
  bool broken() const { return error_ != 0; }

 private:
  static constexpr size_t kWriteBytes = 1 << 16;

  int fd_;
  bool owned_ = false;
  std::string name_;
  std::string buffer_;
  int error_ = 0;
};

}  // namespace rochound::store
