// SPDX-License-Identifier: MIT
//
// Copies whose number, bytes and times the program knows:
//   graph    a stream capture with three copies, launched seven times; the capture moves nothing
//   pinned   large asynchronous copies of pinned memory, timed by events
//   small    many small copies in all directions, which HIP does with kernels of its own
//   peer     from one GPU to another, timed by the host
//   host     pageable memory, host to host, managed memory with hipMemcpyDefault
#include "truth.h"

namespace {

using truth::NowMs;
using truth::Truth;

char* Pinned(size_t bytes) {
  char* memory = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&memory), bytes, 0));
  memset(memory, 1, bytes);
  return memory;
}

void Graph() {
  constexpr size_t kSmall = 4096, kLarge = 1 << 20;
  constexpr int kLaunches = 7;
  char* const from = truth::Allocate<char>(kLarge);
  char* const to = truth::Allocate<char>(kLarge);
  char* const host = Pinned(kLarge);
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreate(&stream));
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(hipMemcpyAsync(from, host, kSmall, hipMemcpyHostToDevice, stream));
  CHECK(hipMemcpyAsync(to, from, kSmall, hipMemcpyDeviceToDevice, stream));
  CHECK(hipMemcpyAsync(host, to, kLarge, hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < kLaunches; ++i) CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  Truth()
      .Add("h2d", kLaunches)
      .Add("h2d_bytes", kLaunches * kSmall)
      .Add("d2d", kLaunches)
      .Add("d2d_bytes", kLaunches * kSmall)
      .Add("d2h", kLaunches)
      .Add("d2h_bytes", kLaunches * kLarge)
      .Add("captured", 3)
      .Print();
}

void PinnedAsync() {
  constexpr size_t kBytes = 16 << 20;
  constexpr int kCopies = 4;
  char* const host = Pinned(kBytes);
  char* const device = truth::Allocate<char>(kBytes);
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  hipEvent_t begin = nullptr, end = nullptr;
  CHECK(hipEventCreate(&begin));
  CHECK(hipEventCreate(&end));
  const double asked = NowMs();
  CHECK(hipEventRecord(begin, stream));
  for (int i = 0; i < kCopies; ++i)
    CHECK(hipMemcpyAsync(device, host, kBytes, hipMemcpyHostToDevice, stream));
  CHECK(hipEventRecord(end, stream));
  const double enqueued = NowMs();
  CHECK(hipStreamSynchronize(stream));
  float ms = 0;
  CHECK(hipEventElapsedTime(&ms, begin, end));
  Truth()
      .Add("h2d", kCopies)
      .Add("h2d_bytes", static_cast<double>(kCopies) * kBytes)
      .Add("copy_ms", ms)
      .Add("enqueue_ms", enqueued - asked)
      .Print();
}

void Small() {
  constexpr size_t kBytes = 1500;
  constexpr int kTimes = 40;
  char* const device = truth::Allocate<char>(1 << 20);
  std::vector<char> host(1 << 20);
  for (int i = 0; i < kTimes; ++i) {
    CHECK(hipMemcpy(device + i * 4096, host.data(), kBytes, hipMemcpyHostToDevice));
    CHECK(hipMemcpyAsync(device, device + (1 << 19), kBytes, hipMemcpyDeviceToDevice, nullptr));
    CHECK(hipMemcpy(host.data(), device, kBytes, hipMemcpyDeviceToHost));
  }
  CHECK(hipDeviceSynchronize());
  Truth truth;
  for (const char* kind : {"h2d", "d2d", "d2h"})
    truth.Add(kind, kTimes).Add(std::string(kind) + "_bytes", static_cast<double>(kTimes) * kBytes);
  truth.Print();
}

void Peer() {
  constexpr size_t kBytes = 8 << 20;
  constexpr int kTimes = 3;
  CHECK(hipSetDevice(1));
  char* const there = truth::Allocate<char>(kBytes);
  CHECK(hipSetDevice(0));
  char* const here = truth::Allocate<char>(kBytes);
  int can = 0;
  CHECK(hipDeviceCanAccessPeer(&can, 0, 1));
  if (can != 0) CHECK(hipDeviceEnablePeerAccess(1, 0));
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreate(&stream));
  double ms = 0;
  for (int i = 0; i < kTimes; ++i) {
    const double asked = NowMs();
    CHECK(hipMemcpyPeerAsync(there, 1, here, 0, kBytes, stream));
    CHECK(hipStreamSynchronize(stream));
    ms += NowMs() - asked;
  }
  Truth()
      .Add("d2d", kTimes)
      .Add("d2d_bytes", static_cast<double>(kTimes) * kBytes)
      .Add("copy_ms", ms)
      .Print();
}

void Host() {
  constexpr size_t kBytes = 8 << 20, kLess = 1 << 20;
  char* const device = truth::Allocate<char>(kBytes);
  char* const host = static_cast<char*>(malloc(2 * kBytes));
  memset(host, 1, 2 * kBytes);
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipMemcpyAsync(device, host, kBytes, hipMemcpyHostToDevice, stream));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(host, device, kLess, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(host, host + kBytes, kLess, hipMemcpyHostToHost));
  CHECK(hipMemcpy(device, host, kLess, hipMemcpyDefault));
  CHECK(hipMemcpy2D(device, 4096, host, 2048, 1024, 100, hipMemcpyHostToDevice));
  Truth()
      .Add("h2d", 3)
      .Add("h2d_bytes", static_cast<double>(kBytes + kLess + 102400))
      .Add("d2h", 1)
      .Add("d2h_bytes", kLess)
      .Add("h2h", 1)
      .Add("h2h_bytes", kLess)
      .Print();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  if (mode == "graph") Graph();
  if (mode == "pinned") PinnedAsync();
  if (mode == "small") Small();
  if (mode == "peer") Peer();
  if (mode == "host") Host();
}
