// SPDX-License-Identifier: MIT
//
// Ways of life of a HIP program; cases.cpp has those that need no HIP.
//
//   hip_life streams ROUNDS   streams that come and go
//   hip_life fork ROUNDS      children of a process that launches: they mark, load a library, ask
//   HIP, launch and end
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <rochound/rochound.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "ends.h"

__global__ void Nothing() {}

namespace {

void Check(hipError_t result, const char* what) {
  if (result == hipSuccess) return;
  fprintf(stderr, "%s: %s\n", what, hipGetErrorString(result));
  _exit(1);
}

void Launch(hipStream_t stream) {
  Nothing<<<1, 64, 0, stream>>>();
  Check(hipGetLastError(), "launch");
}

void Streams(unsigned rounds) {
  Growing(rounds, [] {
    hipStream_t stream = nullptr;
    Check(hipStreamCreate(&stream), "hipStreamCreate");
    Launch(stream);
    Check(hipStreamSynchronize(stream), "hipStreamSynchronize");
    Check(hipStreamDestroy(stream), "hipStreamDestroy");
  });
}

void Roctx(const char* text) {
  void* const library = dlopen("libroctx64.so.4", RTLD_NOW);
  if (library == nullptr) return;
  if (const auto mark = reinterpret_cast<void (*)(const char*)>(dlsym(library, "roctxMarkA")))
    mark(text);
}

void ForkBesideWork(unsigned rounds) {
  std::atomic<bool> end{false};
  // A child that is forked while another thread is in HIP may find HIP's locks held for ever.
  std::mutex outside_hip;
  Roctx("from the parent");
  std::thread background([&] {
    while (!end) {
      const std::lock_guard lock(outside_hip);
      Launch(nullptr);
      Check(hipStreamSynchronize(nullptr), "hipStreamSynchronize");
    }
  });
  Ends ends;
  const auto fork_outside = [&](const std::function<void()>& child) {
    const std::lock_guard lock(outside_hip);
    return Fork(child);
  };
  for (unsigned i = 0; i < rounds; ++i) {
    ends.Collect("mark", fork_outside([] {
                   Roctx("from the child");
                   rochound_mark("from the child");
                 }));
    ends.Collect("load", fork_outside([] {
                   void* const library = dlopen("libresolv.so.2", RTLD_NOW);
                   if (library == nullptr) _exit(1);
                   dlclose(library);
                 }));
    ends.Collect("ask", fork_outside([] {
                   int device = -1;
                   _exit(hipGetDevice(&device) == hipSuccess && device == 0 ? 0 : 1);
                 }));
    // A forked child does not have the driver's memory, and crashes when it launches; in which way
    // depends on what else is where that memory was. It must not wait.
    ends.Collect("launch", fork_outside([] {
                   for (const int crash : {SIGSEGV, SIGBUS, SIGABRT})
                     signal(crash, [](int) { _exit(9); });
                   alarm(5);
                   Nothing<<<1, 64>>>();
                   _exit(hipGetLastError() == hipSuccess ? 0 : 1);
                 }));
  }
  end = true;
  background.join();
  ends.Print();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto rounds = static_cast<unsigned>(atoi(argv[2]));
  strcmp(argv[1], "streams") == 0 ? Streams(rounds) : ForkBesideWork(rounds);
  printf("PASS %s\n", argv[1]);
  return 0;
}
