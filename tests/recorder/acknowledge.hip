// SPDX-License-Identifier: MIT
//
// Calls HIP and launches kernels from several threads until it is killed, and notes in a shared
// page (the file argv[1]) how many calls and launches have returned. A recorder must not lose any
// of them, whenever the end comes. argv[2]: threads.
#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

__global__ void Add(int* value) { atomicAdd(value, 1); }

namespace {

struct Acknowledged {
  std::atomic<uint64_t> calls;     // hipGetDevice calls that have returned
  std::atomic<uint64_t> launches;  // hipLaunchKernel calls that have returned
};

[[noreturn]] void Fail(const char* what) {
  perror(what);
  _exit(1);
}

void Work(Acknowledged* page, int* value) {
  hipStream_t stream = nullptr;
  if (hipStreamCreate(&stream) != hipSuccess) Fail("hipStreamCreate");
  for (;;) {
    int device = 0;
    for (int i = 0; i < 10; ++i) {
      if (hipGetDevice(&device) != hipSuccess) Fail("hipGetDevice");
      page->calls.fetch_add(1);
    }
    void* arguments[] = {&value};
    if (hipLaunchKernel(reinterpret_cast<const void*>(Add), dim3(1), dim3(64), arguments, 0,
                        stream) != hipSuccess)
      Fail("hipLaunchKernel");
    page->launches.fetch_add(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int file = argc == 3 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
  if (file < 0 || ftruncate(file, 4096) != 0) Fail("usage: acknowledge FILE THREADS");
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) Fail("mmap");
  int* value = nullptr;
  if (hipMalloc(&value, sizeof(int)) != hipSuccess) Fail("hipMalloc");
  std::vector<std::thread> threads;
  for (int i = 0; i < atoi(argv[2]); ++i)
    threads.emplace_back(Work, static_cast<Acknowledged*>(memory), value);
  for (std::thread& thread : threads) thread.join();
}
