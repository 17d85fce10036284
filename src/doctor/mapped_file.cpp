// SPDX-License-Identifier: MIT
#include "doctor/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"

namespace rochound::doctor {

MappedFile::MappedFile(const std::string& path) {
  uint64_t size = 0;
  const auto file = base::OpenRegularFile(path, &size);
  if (!file.ok()) return;
  if (size > 0) {
    void* place = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value(), 0);
    if (place != MAP_FAILED) {
      data_ = static_cast<char*>(place);
      size_ = size;
    }
  }
  close(file.value());
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace rochound::doctor
