// SPDX-License-Identifier: MIT
//
// endings MODE: how a program ends, with the work of its GPU done or not.
//   device, stream, event, query, copy   waits for its kernels in this way, then _exit(0), as
//                                        Python's multiprocessing ends its workers
//   processes                            the same, in a child process, while the parent goes on
//   unwaited                             waits for nothing, then _exit(0)
//   loop                                 short kernels until somebody ends it
//   daemon                               leaves a process behind that launches, and ends at once
//   fault                                a kernel stores where there is no memory
//   nothing                              allocates memory, and launches nothing
//   probes                               asks a module for kernels that it does not have
#include <sys/wait.h>

#include "truth.h"

using namespace truth;

namespace {

constexpr double kKernelMs = 1500;

__global__ void StoreNowhere(int* out) { out[threadIdx.x] = 1; }

void Fault() {
  StoreNowhere<<<1, 64>>>(reinterpret_cast<int*>(uintptr_t{0x123456789000}));
  CHECK(hipDeviceSynchronize());
}

// As rocBLAS does, until it has found a module with the kernel.
void Probe() {
  BusyKernels kernels;
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  for (int i = 0; i < 6; ++i)
    if (hipModuleGetFunction(&function, module, "no such kernel") == hipSuccess) exit(9);
  (void)hipGetLastError();
  for (int i = 0; i < 10; ++i) kernels.Launch<1>(20);
  CHECK(hipDeviceSynchronize());
}

void Wait(const std::string& how, hipStream_t stream, hipEvent_t event, int* memory) {
  int value = 0;
  if (how == "device") CHECK(hipDeviceSynchronize());
  if (how == "stream") CHECK(hipStreamSynchronize(stream));
  if (how == "event") CHECK(hipEventSynchronize(event));
  if (how == "query")
    while (hipStreamQuery(stream) == hipErrorNotReady) SleepMs(1);
  if (how == "copy") CHECK(hipMemcpyWithStream(&value, memory, 4, hipMemcpyDeviceToHost, stream));
}

[[noreturn]] void End(const std::string& how, int launches, double ms) {
  BusyKernels kernels;
  int* const memory = Allocate(64);
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  double last = 0;
  for (int i = 0; i < launches; ++i) {
    const double begin = NowMs();
    kernels.Launch<1>(ms, stream);
    CHECK(hipEventRecord(event, stream));
    Wait(how, stream, event, memory);
    last = NowMs() - begin;
  }
  Truth().Add("last_ms", last).Add("launches", launches).Print();
  _exit(0);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "device";
  if (mode == "loop") {
    BusyKernels kernels(1 << 20);
    while (true) {
      kernels.Launch<1>(20);
      CHECK(hipDeviceSynchronize());
    }
  }
  if (mode == "daemon") {
    if (fork() != 0) return 0;
    setsid();
    SleepMs(1000);
    End("device", 10, 40);
  }
  if (mode == "fault") Fault();
  if (mode == "nothing") Allocate(64);
  if (mode == "probes") Probe();
  if (mode == "fault" || mode == "nothing" || mode == "probes") return 0;
  if (mode == "unwaited") End("", 3, kKernelMs);
  if (mode != "processes") End(mode, 3, kKernelMs);
  const pid_t child = fork();
  if (child == 0) End("device", 10, 40);
  BusyKernels kernels;
  for (int i = 0; i < 10; ++i) {
    kernels.Launch<2>(40);
    CHECK(hipDeviceSynchronize());
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
