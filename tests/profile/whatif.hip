// SPDX-License-Identifier: MIT
//
// Programs of known shape, for whatif_test.py: kernels that take as long as they are told, on one
// stream or several, before and beside work of the host. Compiled alone with PARTS=2, the same
// kernels take half as long, and are swapped in. Prints how long the program took between its first
// launch and its last wait.
//
// Most kernels wait for a clock, so that a busy machine does not change what is compared; `Work`
// computes.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <thread>

#ifndef PARTS
#define PARTS 1
#endif

extern "C" {
__device__ void Spin(long long ticks) {
  const long long start = wall_clock64();
  while (static_cast<long long>(wall_clock64()) - start < ticks / PARTS)
    __builtin_amdgcn_s_sleep(1);
}
__global__ void A(long long ticks) { Spin(ticks); }
__global__ void B(long long ticks) { Spin(ticks); }
__global__ void C(long long ticks) { Spin(ticks); }
__global__ void Work(float* values, int rounds) {
  float value = values[threadIdx.x];
  for (int i = 0; i < rounds / PARTS; ++i) value = __builtin_fmaf(value, 0.5f, 1.0f);
  values[threadIdx.x] = value;
}
}

#define CHECK(call)                                             \
  do {                                                          \
    if (const hipError_t error = (call); error != hipSuccess) { \
      printf("FAIL %s: %s\n", #call, hipGetErrorString(error)); \
      exit(1);                                                  \
    }                                                           \
  } while (0)

namespace {

using Kernel = void (*)(long long);
using Clock = std::chrono::steady_clock;

long long ticks_per_ms = 0;
hipStream_t s, t, u;  // do not wait for the default stream
float* values = nullptr;
float* host = nullptr;

void Launch(Kernel kernel, int ms, hipStream_t stream = s) {
  kernel<<<1, 64, 0, stream>>>(ms * ticks_per_ms);
  CHECK(hipGetLastError());
}
void Compute(int rounds, hipStream_t stream = s) {
  Work<<<1, 64, 0, stream>>>(values, rounds);
  CHECK(hipGetLastError());
}
// `later` goes on when what `earlier` has by now is over.
void After(hipStream_t earlier, hipStream_t later) {
  hipEvent_t event;
  CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  CHECK(hipEventRecord(event, earlier));
  CHECK(hipStreamWaitEvent(later, event, 0));
  CHECK(hipEventDestroy(event));
}
void Wait(hipStream_t stream = s) { CHECK(hipStreamSynchronize(stream)); }
void HostWork(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
void Copy(hipStream_t stream = s) {
  CHECK(hipMemcpyAsync(host, values, 256, hipMemcpyDeviceToHost, stream));
}

const std::map<std::string, std::function<void()>>& Programs() {
  static const std::map<std::string, std::function<void()>> programs = {
      {"chain",
       [] {
         for (int i = 0; i < 3; ++i) Launch(A, 30), Launch(B, 20);
         Wait();
       }},
      // A is half as long as it was; then B is what the program waits for.
      {"other_branch",
       [] {
         Launch(A, 100);
         Launch(B, 75, t);
         Wait();
         Wait(t);
       }},
      {"hidden",  // C is never waited for long
       [] {
         for (int i = 0; i < 3; ++i) {
           Launch(A, 40);
           Launch(C, 25, t);
           Wait();
           Wait(t);
         }
       }},
      {"fork_join",
       [] {
         for (int i = 0; i < 2; ++i) {
           Launch(A, 30);
           After(s, t);
           Launch(B, 40, t);
           Launch(C, 20);
           After(t, s);
         }
         Wait();
       }},
      {"host_bound",  // the host is slower than the GPU
       [] {
         for (int i = 0; i < 4; ++i) {
           Launch(A, 15);
           HostWork(35);
         }
         Wait();
       }},
      {"condition",  // a callback wakes the host, which is nowhere in a trace
       [] {
         for (int i = 0; i < 4; ++i) {
           Launch(A, 30);
           std::promise<void> ended;
           CHECK(hipLaunchHostFunc(
               s, [](void* data) { static_cast<std::promise<void>*>(data)->set_value(); }, &ended));
           ended.get_future().wait();
         }
       }},
      {"host_between",
       [] {
         for (int i = 0; i < 3; ++i) {
           Launch(A, 30);
           Wait();
           HostWork(20);
         }
       }},
      {"diamond",
       [] {
         Launch(A, 20);
         After(s, t);
         After(s, u);
         Launch(B, 40, t);
         Launch(C, 60, u);
         After(t, s);
         After(u, s);
         Launch(A, 40);
         Wait();
       }},
      {"many_launches",
       [] {
         for (int i = 0; i < 8; ++i) Launch(A, 20);
         Wait();
       }},
      {"waits_each_time",
       [] {
         for (int i = 0; i < 12; ++i) {
           Launch(i % 2 == 0 ? A : B, 12);
           Wait();
         }
       }},
      {"event",
       [] {
         hipEvent_t event;
         CHECK(hipEventCreate(&event));
         for (int i = 0; i < 3; ++i) {
           Launch(A, 30);
           CHECK(hipEventRecord(event, s));
           Launch(B, 10);
           CHECK(hipEventSynchronize(event));
           HostWork(15);
         }
         Wait();
       }},
      {"polling",
       [] {
         for (int i = 0; i < 3; ++i) {
           Launch(A, 40);
           while (hipStreamQuery(s) == hipErrorNotReady) HostWork(1);
           HostWork(10);
         }
       }},
      {"default_stream",  // waits for all others, and they for it
       [] {
         hipStream_t blocking;
         CHECK(hipStreamCreate(&blocking));
         for (int i = 0; i < 2; ++i) {
           Launch(A, 30, blocking);
           Launch(B, 20, nullptr);
           Launch(C, 10, blocking);
         }
         CHECK(hipDeviceSynchronize());
       }},
      {"graph",
       [] {
         hipGraph_t graph;
         hipGraphExec_t exec;
         CHECK(hipStreamBeginCapture(s, hipStreamCaptureModeThreadLocal));
         Launch(A, 25);
         Launch(B, 25);
         CHECK(hipStreamEndCapture(s, &graph));
         CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
         for (int i = 0; i < 3; ++i) CHECK(hipGraphLaunch(exec, s));
         Wait();
       }},
      {"threads",
       [] {
         std::thread other([] {
           for (int i = 0; i < 3; ++i) {
             Launch(B, 20, t);
             Wait(t);
             HostWork(10);
           }
         });
         for (int i = 0; i < 3; ++i) {
           Launch(A, 50);
           Wait();
         }
         other.join();
       }},
      {"pipeline",  // each stage works on what the one before it has left
       [] {
         for (int i = 0; i < 4; ++i) {
           Launch(A, 25);
           After(s, t);
           Launch(B, 15, t);
           After(t, u);
           Launch(C, 10, u);
         }
         Wait(u);
       }},
      {"copies",
       [] {
         for (int i = 0; i < 3; ++i) {
           Launch(A, 30);
           Copy();
           Wait();
           HostWork(10);
         }
       }},
      {"double_buffer",  // the host prepares what comes next meanwhile
       [] {
         for (int i = 0; i < 4; ++i) {
           const hipStream_t stream = i % 2 == 0 ? s : t;
           Wait(stream);
           HostWork(12);
           Launch(A, 40, stream);
           After(stream, i % 2 == 0 ? t : s);
         }
         Wait();
         Wait(t);
       }},
      {"uneven",
       [] {
         for (const int ms : {5, 60, 10, 40}) {
           Launch(A, ms);
           Launch(B, 30, t);
           Wait();
           Wait(t);
         }
       }},
      {"three_streams",
       [] {
         Launch(A, 80);
         Launch(B, 40, t);
         Launch(B, 40, t);
         Launch(C, 70, u);
         CHECK(hipDeviceSynchronize());
         Launch(A, 40);
         Wait();
       }},
      {"computing",
       [] {
         for (int i = 0; i < 3; ++i) {
           Compute(800'000);
           Launch(B, 10);
         }
         Wait();
       }},
  };
  return programs;
}

}  // namespace

int main(int argc, char** argv) {
  const auto program = argc < 2 ? Programs().end() : Programs().find(argv[1]);
  if (program == Programs().end()) {
    for (const auto& [name, run] : Programs()) puts(name.c_str());
    return argc < 2 ? 0 : 1;
  }
  int khz = 0;
  CHECK(hipDeviceGetAttribute(&khz, hipDeviceAttributeWallClockRate, 0));
  ticks_per_ms = khz;
  for (hipStream_t* stream : {&s, &t, &u})
    CHECK(hipStreamCreateWithFlags(stream, hipStreamNonBlocking));
  CHECK(hipMalloc(&values, 256));
  CHECK(hipHostMalloc(&host, 256, 0));
  CHECK(hipMemset(values, 0, 256));
  // What is paid once is paid here: code, queues.
  for (const hipStream_t stream : {s, t, u, static_cast<hipStream_t>(nullptr)}) {
    for (const Kernel kernel : {A, B, C}) Launch(kernel, 0, stream);
    Compute(0, stream);
    Copy(stream);
  }
  CHECK(hipDeviceSynchronize());
  const Clock::time_point begin = Clock::now();
  program->second();
  const Clock::duration took = Clock::now() - begin;
  printf("took_ns %lld\n", static_cast<long long>(
                               std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()));
  return 0;
}
