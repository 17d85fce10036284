// SPDX-License-Identifier: MIT
//
// A file's bytes without reading them all: libraries of several GiB are looked into. Owns the
// mapping; any thread. A file that shrinks meanwhile is the caller's risk, as with any mapping.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace rochound::doctor {

class MappedFile {
 public:
  // Empty bytes for what cannot be read.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {data_, size_}; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rochound::doctor
