// SPDX-License-Identifier: MIT
//
// Whether a file or directory can be changed only by those who could do anything to us anyway: our
// own user and root. Asked before code in it is run for the user. Any thread.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

namespace rochound::base {

inline bool OthersMayWrite(const struct stat& status) {
  const bool owner = status.st_uid == geteuid() || status.st_uid == 0;
  // Where every user has a group of his own, files are writable by it.
  const bool group =
      (status.st_mode & S_IWGRP) == 0 || status.st_gid == getegid() || status.st_gid == 0;
  return !owner || !group || (status.st_mode & S_IWOTH) != 0;
}

}  // namespace rochound::base
