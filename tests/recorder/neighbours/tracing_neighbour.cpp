// SPDX-License-Identifier: MIT
//
// Preloaded: takes HIP's tracer callback, as roctracer does for torch.profiler, and says at the end
// on stderr how many calls it was told of. NEIGHBOUR_WHEN=before: when it is loaded, before any
// recorder; after: in the program's first hipMalloc, when the runtime and its tools are there.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<unsigned long> calls{0};
std::atomic<bool> taken{false};

int OnCall(uint32_t, uint32_t, void*) {
  calls.fetch_add(1, std::memory_order_relaxed);
  return 1;
}

bool Wanted(const char* when) {
  const char* const wish = getenv("NEIGHBOUR_WHEN");
  return wish != nullptr && strcmp(wish, when) == 0;
}

void Take() {
  using Register = void (*)(int (*)(uint32_t, uint32_t, void*));
  const auto take = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "hipRegisterTracerCallback"));
  if (take == nullptr || taken.exchange(true)) return;
  take(OnCall);
}

__attribute__((constructor)) void AtLoad() {
  if (Wanted("before")) Take();
}

__attribute__((destructor)) void AtEnd() {
  if (taken) fprintf(stderr, "neighbour: %lu calls\n", calls.load());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int hipMalloc(void** memory, size_t bytes) {
  static const auto real = reinterpret_cast<int (*)(void**, size_t)>(dlsym(RTLD_NEXT, "hipMalloc"));
  const int result = real(memory, bytes);
  if (Wanted("after")) Take();
  return result;
}
