// SPDX-License-Identifier: MIT
//
// Preloaded into rochound-replay: puts something where a bundle needs its memory.
//   OCCUPY=BASE+SIZE,...    what (hexadecimal); before main, unless OCCUPY_LATE is set
//   OCCUPY_TIMES=N          only in the first N of the processes that follow one another by exec
//   OCCUPY_LATE=1           when the runtime starts, and only where nobody is: what a runtime may
//   do OCCUPY_ONLY=NAME        only in the program of this name

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

namespace {

void Occupy(int flags) {
  const char* text = getenv("OCCUPY");
  const char* const only = getenv("OCCUPY_ONLY");
  if (text == nullptr || (only != nullptr && strcmp(only, program_invocation_short_name) != 0))
    return;
  if (const char* const times = getenv("OCCUPY_TIMES")) {
    const int left = atoi(times);
    if (left <= 0) return;
    char number[16];
    snprintf(number, sizeof(number), "%d", left - 1);
    setenv("OCCUPY_TIMES", number, 1);
  }
  for (char* end = nullptr; *text != '\0'; text = *end == ',' ? end + 1 : end) {
    const unsigned long base = strtoul(text, &end, 16);
    const unsigned long size = strtoul(end + 1, &end, 16);
    void* const got = mmap(reinterpret_cast<void*>(base), size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (got == MAP_FAILED) perror("occupy");
  }
}

__attribute__((constructor)) void Start() {
  if (getenv("OCCUPY_LATE") == nullptr) Occupy(MAP_FIXED_NOREPLACE);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int hsa_init() {
  // A wish, as that of a runtime that takes what is free.
  if (getenv("OCCUPY_LATE") != nullptr) Occupy(0);
  using Function = int (*)();
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, "hsa_init"))();
}
