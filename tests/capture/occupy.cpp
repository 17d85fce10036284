// SPDX-License-Identifier: MIT
//
// A library for LD_PRELOAD that gets in the way of a replay:
//   OCCUPY_AT_START=0xBASE+SIZE,...  those ranges are taken before main
//   OCCUPY_AT_INIT=...               are taken when the HSA runtime initialises, as far as they are
//   free: what its own
//                                    reservations do when they happen to fall there
//   OCCUPY_SHIFT=BYTES               a hole of that size, so that everything afterwards is mapped
//   elsewhere
// Only in rochound-replay: the programs that start it keep their address space.
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

namespace {

constexpr uint64_t kPage = 4096;

bool InReplay() { return strcmp(program_invocation_short_name, "rochound-replay") == 0; }

// What is taken already stays so.
void Reserve(uint64_t base, uint64_t size, int flags) {
  [[maybe_unused]] void* const got =
      mmap(reinterpret_cast<void*>(base), size, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

void Occupy(const char* name) {
  const char* text = getenv(name);
  if (text == nullptr || !InReplay()) return;
  for (char* end = nullptr; *text != '\0'; text = *end == ',' ? end + 1 : end) {
    const uint64_t base = strtoull(text, &end, 16) & ~(kPage - 1);
    const uint64_t size = (strtoull(end + 1, &end, 10) + kPage - 1) & ~(kPage - 1);
    Reserve(base, size, MAP_FIXED_NOREPLACE);
  }
}

__attribute__((constructor)) void Start() {
  Occupy("OCCUPY_AT_START");
  if (const char* shift = getenv("OCCUPY_SHIFT"); shift != nullptr && InReplay())
    Reserve(0, strtoull(shift, nullptr, 10), 0);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int hsa_init() {
  Occupy("OCCUPY_AT_INIT");
  static auto* const real = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "hsa_init"));
  return real != nullptr ? real() : 0x1000;
}
