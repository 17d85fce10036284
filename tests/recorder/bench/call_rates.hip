// SPDX-License-Identifier: MIT
//
// How long HIP calls, HSA calls and launches take at full rate. Prints `name value` lines:
// nanoseconds per call, launches per second. Run bare and recorded by recorder_bench.cpp.
#include <hip/hip_runtime.h>
#include <hsa/hsa.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

__global__ void Empty() {}

#define CHECK(good, call)                         \
  do {                                            \
    if ((call) != (good)) {                       \
      std::fprintf(stderr, "%s failed\n", #call); \
      std::exit(1);                               \
    }                                             \
  } while (0)

namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The best of several rounds: a round that lost its core says nothing about the call.
template <typename Call>
double Nanoseconds(int calls, Call call) {
  double best = 1e30;
  for (int round = 0; round < 15; ++round) {
    const double begin = Now();
    for (int i = 0; i < calls; ++i) call();
    const double seconds = Now() - begin;
    if (seconds < best) best = seconds;
  }
  return best / calls * 1e9;
}

}  // namespace

int main() {
  CHECK(hipSuccess, hipSetDevice(0));
  for (int i = 0; i < 1000; ++i) Empty<<<1, 64>>>();
  CHECK(hipSuccess, hipDeviceSynchronize());
  CHECK(HSA_STATUS_SUCCESS, hsa_init());

  int device = 0;
  hipEvent_t event = nullptr;
  CHECK(hipSuccess, hipEventCreate(&event));
  CHECK(hipSuccess, hipEventRecord(event, nullptr));
  CHECK(hipSuccess, hipDeviceSynchronize());
  std::printf("hip_get_device_ns %.2f\n",
              Nanoseconds(20000, [&] { CHECK(hipSuccess, hipGetDevice(&device)); }));
  std::printf("hip_event_query_ns %.2f\n",
              Nanoseconds(20000, [&] { CHECK(hipSuccess, hipEventQuery(event)); }));
  std::printf("hip_stream_query_ns %.2f\n",
              Nanoseconds(10000, [&] { CHECK(hipSuccess, hipStreamQuery(nullptr)); }));

  hsa_signal_t signal{};
  CHECK(HSA_STATUS_SUCCESS, hsa_signal_create(1, 0, nullptr, &signal));
  uint64_t stamp = 0;
  hsa_signal_value_t sum = 0;
  std::printf("hsa_signal_load_ns %.2f\n",
              Nanoseconds(100000, [&] { sum += hsa_signal_load_relaxed(signal); }));
  std::printf("hsa_system_info_ns %.2f\n", Nanoseconds(50000, [&] {
                CHECK(HSA_STATUS_SUCCESS, hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &stamp));
              }));
  CHECK(HSA_STATUS_SUCCESS, hsa_signal_destroy(signal));

  double best = 0;
  constexpr int kLaunches = 20000;
  for (int round = 0; round < 5; ++round) {
    const double begin = Now();
    for (int i = 0; i < kLaunches; ++i) Empty<<<1, 64>>>();
    CHECK(hipSuccess, hipDeviceSynchronize());
    const double rate = kLaunches / (Now() - begin);
    if (rate > best) best = rate;
  }
  std::printf("launches_per_second %.0f\n", best);
  CHECK(HSA_STATUS_SUCCESS, hsa_shut_down());
  return sum == 0;
}
