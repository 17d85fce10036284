// SPDX-License-Identifier: MIT
//
// Preloaded: a CLOCK_REALTIME that is wrong by as many seconds as the file ROCHOUND_TEST_SKEW says,
// which may change at any time. Not for libraries that wait until an instant of that clock: the
// kernel, which they wait with, has the right time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long Seconds(void) {
  char text[32] = "";
  const char* path = getenv("ROCHOUND_TEST_SKEW");
  const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  if (read(file, text, sizeof text - 1) < 0) text[0] = '\0';
  close(file);
  return atol(text);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec* now) {
  const int status = (int)syscall(SYS_clock_gettime, clock, now);
  Dl_info caller;
  if (status == 0 && clock == CLOCK_REALTIME && dladdr(__builtin_return_address(0), &caller) != 0 &&
      strstr(caller.dli_fname, "libnats") == NULL)
    now->tv_sec += Seconds();
  return status;
}
