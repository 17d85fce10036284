// SPDX-License-Identifier: MIT
//
// What the host does between launches. host_work MODE
//   sleep     sleeps inside a range while the GPU has nothing to do
//   compute   computes inside a range
//   plain     sleeps, and no range says so
//   started   sleeps while a range is open that it started, and that another thread stops
//   starved   computes, and six other threads want the same processor
//   clean     computes just as long, after the next kernel has been launched
#include <dlfcn.h>
#include <sched.h>

#include <atomic>

#include "truth.h"

using namespace truth;

namespace {

// Ranges that another thread may stop: only roctx has them.
struct Roctx {
  Roctx() {
    void* library = dlopen("libroctx64.so.4", RTLD_LAZY);
    if (library == nullptr) exit(9);
    start = reinterpret_cast<uint64_t (*)(const char*)>(dlsym(library, "roctxRangeStartA"));
    stop = reinterpret_cast<void (*)(uint64_t)>(dlsym(library, "roctxRangeStop"));
  }
  uint64_t (*start)(const char*);
  void (*stop)(uint64_t);
};

void SleepInStartedRange() {
  static const Roctx roctx;
  const uint64_t range = roctx.start("prepare batch");
  std::thread([&] {
    SleepMs(40);
    roctx.stop(range);
  }).join();
}

void UseFirstProcessor() {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  sched_setaffinity(0, sizeof first, &first);
}

void Starved() {
  BusyKernels gpu;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      UseFirstProcessor();
      while (!over) {
      }
    });
  }
  std::thread launching([&] {
    UseFirstProcessor();
    CHECK(hipSetDevice(0));
    for (int i = 0; i < 30; ++i) {
      {
        const Range range("collate");
        WorkCpuMs(4);
      }
      gpu.Launch(2);
      CHECK(hipDeviceSynchronize());
    }
  });
  launching.join();
  over = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  if (mode == "starved") {
    Starved();
    return 0;
  }
  BusyKernels gpu;
  double outside = 0;
  for (int round = 0; round < 14; ++round) {
    gpu.Launch(mode == "compute" ? 5 : mode == "clean" ? 80 : 30);
    if (mode != "clean") CHECK(hipDeviceSynchronize());
    const double from = NowMs();
    if (mode == "plain") {
      SleepMs(40);
    } else if (mode == "started") {
      SleepInStartedRange();
    } else {
      const Range range("prepare batch");
      mode == "sleep" ? SleepMs(40) : WorkMs(mode == "clean" ? 20 : 40);
    }
    outside += NowMs() - from;
  }
  CHECK(hipDeviceSynchronize());
  if (mode == "clean") {
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
  } else {
    // On a busy machine it cannot be seen whether a thread computes or waits for a processor, or it
    // does wait for one.
    Truth::Finding(mode == "compute" ? "cpu-work or host-work or starved-host" : "host-work",
                   outside)
        .Add("what", mode == "plain" ? "" : "prepare batch")
        .Print();
  }
}
