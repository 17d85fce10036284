// SPDX-License-Identifier: MIT
//
// For code that opens files inside somebody else's process: it must not take the descriptors that
// the program is going to need. Any thread.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace rochound::base {

// The descriptor as it is; or closed, -1 and EMFILE if the process has so few left behind it that
// the program might miss this one. Passes a failed open on.
inline int UnlessScarce(int fd) {
  constexpr rlim_t kLeftForTheProgram = 64;
  if (fd < 0) return fd;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      static_cast<rlim_t>(fd) + kLeftForTheProgram < limit.rlim_cur)
    return fd;
  close(fd);
  errno = EMFILE;
  return -1;
}

}  // namespace rochound::base
