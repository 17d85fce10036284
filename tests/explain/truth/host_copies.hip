// SPDX-License-Identifier: MIT
//
// Copies between host and GPU. host_copies MODE
//   pageable_in, pageable_out   memory that is not pinned
//   pinned_in, pinned_out       pinned, and the host waits for each
//   same_stream                 pinned and asynchronous, on the stream of the kernels
//   small_in, small_out         a great many of 4 KiB
//   clean                       pinned and asynchronous, on a stream of their own beside the
//   kernels
#include "truth.h"

using namespace truth;

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  const bool out = mode.find("out") != std::string::npos;
  const size_t bytes = (mode == "clean" ? 4 : 64) << 20;
  BusyKernels gpu;
  char* device = Allocate<char>(bytes);
  char* host = nullptr;
  if (mode.rfind("pageable", 0) == 0) {
    host = static_cast<char*>(malloc(bytes));
  } else {
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&host), bytes));
  }
  if (mode == "pageable_in") memset(host, 1, bytes);
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  const hipMemcpyKind kind = out ? hipMemcpyDeviceToHost : hipMemcpyHostToDevice;
  char* const to = out ? host : device;
  const char* const from = out ? device : host;
  double copying = 0;
  if (mode.rfind("small", 0) == 0) {
    for (int round = 0; round < 20; ++round) {
      gpu.Launch(5);
      CHECK(hipDeviceSynchronize());
      const double begin = NowMs();
      for (int i = 0; i < 200; ++i) CHECK(hipMemcpy(to + i * 4096, from + i * 4096, 4096, kind));
      copying += NowMs() - begin;
    }
    Truth::Finding("small-copies", copying).Print();
  } else if (mode == "same_stream") {
    for (int round = 0; round < 12; ++round) {
      gpu.Launch(40, stream);
      CHECK(hipStreamSynchronize(stream));
      const double begin = NowMs();
      CHECK(hipMemcpyAsync(to, from, bytes, kind, stream));
      CHECK(hipStreamSynchronize(stream));
      copying += NowMs() - begin;
    }
    const double kernels = gpu.Milliseconds();
    Truth::Finding("copy-overlap", copying < kernels ? copying : kernels).Print();
  } else if (mode == "clean") {
    for (int round = 0; round < 10; ++round) {
      gpu.Launch(80);
      CHECK(hipMemcpyAsync(to, from, bytes, kind, stream));
    }
    CHECK(hipDeviceSynchronize());
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
  } else {
    for (int round = 0; round < 12; ++round) {
      gpu.Launch(10);
      CHECK(hipDeviceSynchronize());
      const double begin = NowMs();
      CHECK(hipMemcpy(to, from, bytes, kind));
      copying += NowMs() - begin;
    }
    Truth::Finding(mode.rfind("pageable", 0) == 0 ? "pageable-copies" : "copies-on-path", copying)
        .Print();
  }
}
