// SPDX-License-Identifier: MIT
//
// Host to host copies, and hipMemcpyDefault, where the runtime finds the direction from the
// pointers.

#include "program.h"

int main() {
  program::Begin("copy_host");
  const size_t sizes[] = {100, 3 << 20};
  for (size_t bytes : sizes) {
    std::vector<char> in(bytes), out(bytes);
    for (size_t i = 0; i < bytes; ++i) in[i] = static_cast<char>(i * 31 + i / 251);
    char* pinned = nullptr;
    HIP_CALL(hipHostMalloc(&pinned, bytes, hipHostMallocDefault));
    HIP_COPY(kH2H, bytes, hipMemcpy(out.data(), in.data(), bytes, hipMemcpyHostToHost));
    CHECK(in == out, "%zu bytes pageable to pageable differ", bytes);
    HIP_COPY(kH2H, bytes, hipMemcpy(pinned, in.data(), bytes, hipMemcpyHostToHost));
    CHECK(memcmp(pinned, in.data(), bytes) == 0, "%zu bytes pageable to pinned differ", bytes);
    memset(out.data(), 0, bytes);
    HIP_COPY(kH2H, bytes, hipMemcpyAsync(out.data(), pinned, bytes, hipMemcpyHostToHost, nullptr));
    HIP_CALL(hipStreamSynchronize(nullptr));
    CHECK(in == out, "%zu bytes pinned to pageable differ", bytes);

    char* first = program::NewDevice<char>(bytes);
    char* second = program::NewDevice<char>(bytes);
    memset(out.data(), 0, bytes);
    HIP_COPY(kH2D, bytes, hipMemcpy(first, pinned, bytes, hipMemcpyDefault));
    HIP_COPY(kD2D, bytes, hipMemcpy(second, first, bytes, hipMemcpyDefault));
    HIP_COPY(kD2H, bytes, hipMemcpy(out.data(), second, bytes, hipMemcpyDefault));
    CHECK(in == out, "%zu bytes by hipMemcpyDefault differ", bytes);
    program::Free(first);
    program::Free(second);
    HIP_CALL(hipHostFree(pinned));
  }
  return program::Pass();
}
