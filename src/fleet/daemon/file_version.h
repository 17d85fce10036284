// SPDX-License-Identifier: MIT
//
// Whether a file has changed since it was last read: who asks for what is not in it shall not have
// it read again and again. One thread per object. A file that is not there has not changed.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <tuple>

namespace rochound::fleet {

class FileVersion {
 public:
  // Since the last call. `status`: of the file as it is now.
  bool Changed(const std::filesystem::path& path, struct stat* status) {
    if (stat(path.c_str(), status) != 0) return false;
    const Seen now{status->st_ino, status->st_size, status->st_ctim.tv_sec,
                   status->st_ctim.tv_nsec};
    if (now == seen_) return false;
    seen_ = now;
    return true;
  }

 private:
  using Seen = std::tuple<ino_t, off_t, time_t, long>;
  Seen seen_{};
};

}  // namespace rochound::fleet
