// SPDX-License-Identifier: MIT
//
// Copies that are easily taken for others. copy_kinds MODE
//   mixed           large pinned copies run beside kernels, small pageable ones do not
//   after_wait      short copies wait for another GPU's kernels
//   pinned_before   memory is pinned long before the copies: for recordings that begin later
//   ring            pinned memory that copies use at offsets
//   first           the first call of the program allocates pinned memory that copies use
//   device          from GPU memory to GPU memory
#include "truth.h"

using namespace truth;

namespace {

char* Pinned(size_t bytes) {
  char* host = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&host), bytes));
  memset(host, 1, bytes);
  return host;
}

hipStream_t NonBlocking() {
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

void Mixed() {
  constexpr size_t kHidden = 16 << 20, kExposed = 32 << 20;
  BusyKernels gpu;
  char* const pinned = Pinned(kHidden);
  std::vector<char> pageable(kExposed, 1);
  char* const device = Allocate<char>(kHidden);
  char* const other = Allocate<char>(kExposed);
  hipStream_t compute = NonBlocking(), copies = NonBlocking();
  double exposed = 0;
  for (int i = 0; i < 6; ++i) {
    gpu.Launch(150, compute);
    for (int k = 0; k < 2; ++k)
      CHECK(hipMemcpyAsync(device, pinned, kHidden, hipMemcpyHostToDevice, copies));
    CHECK(hipStreamSynchronize(copies));
    CHECK(hipStreamSynchronize(compute));
    const double from = NowMs();
    CHECK(hipMemcpy(other, pageable.data(), kExposed, hipMemcpyHostToDevice));
    exposed += NowMs() - from;
  }
  Truth::Finding("pageable-copies", exposed).Print();
}

void AfterWait() {
  BusyKernels second(64, 1), first(64, 0);
  constexpr size_t kBytes = 64 << 10;
  char* const host = Pinned(kBytes);
  char* const device = Allocate<char>(kBytes);
  hipEvent_t here, there;
  CHECK(hipSetDevice(1));
  hipStream_t other = NonBlocking();
  CHECK(hipEventCreateWithFlags(&there, hipEventDisableTiming));
  CHECK(hipSetDevice(0));
  hipStream_t stream = NonBlocking();
  CHECK(hipEventCreateWithFlags(&here, hipEventDisableTiming));
  for (int i = 0; i < 8; ++i) {
    CHECK(hipSetDevice(1));
    if (i > 0) CHECK(hipStreamWaitEvent(other, here, 0));
    second.Launch(60, other);
    CHECK(hipEventRecord(there, other));
    CHECK(hipSetDevice(0));
    CHECK(hipStreamWaitEvent(stream, there, 0));
    CHECK(hipMemcpyAsync(device, host, kBytes, hipMemcpyHostToDevice, stream));
    first.Launch(70, stream);
    CHECK(hipEventRecord(here, stream));
  }
  CHECK(hipStreamSynchronize(stream));
  Truth().Add("waited_ms", 8 * 60).Print();
}

void PinnedBefore() {
  constexpr size_t kBytes = 32 << 20;
  char* const host = Pinned(kBytes);
  char* const device = Allocate<char>(kBytes);
  BusyKernels gpu;
  SleepMs(1200);
  double copying = 0;
  for (int i = 0; i < 12; ++i) {
    const double from = NowMs();
    CHECK(hipMemcpy(device, host, kBytes, hipMemcpyHostToDevice));
    copying += NowMs() - from;
    gpu.Launch(10);
    CHECK(hipDeviceSynchronize());
  }
  Truth::Finding("copies-on-path", copying).Print();
}

// Both: every byte of the pinned memory is there for copies.
void Ring(bool first) {
  constexpr size_t kBytes = 16 << 20, kPart = 1 << 20;
  char* const host = Pinned(kBytes);
  BusyKernels gpu;
  char* const device = Allocate<char>(kBytes);
  hipStream_t compute = NonBlocking(), copies = NonBlocking();
  for (int i = 0; i < 12; ++i) {
    gpu.Launch(60, compute);
    const size_t offset = first ? 0 : (1 + i) * kPart;
    CHECK(hipMemcpyAsync(device + offset, host + offset, kPart, hipMemcpyHostToDevice, copies));
  }
  CHECK(hipDeviceSynchronize());
  Truth().Add("busy_ms", gpu.Milliseconds()).Print();
}

void Device() {
  constexpr size_t kBytes = 64 << 20;
  BusyKernels gpu;
  char* const from = Allocate<char>(kBytes);
  char* const to = Allocate<char>(kBytes);
  CHECK(hipMemset(from, 1, kBytes));
  CHECK(hipDeviceSynchronize());
  double copying = 0;
  for (int i = 0; i < 6; ++i) {
    gpu.Launch(10);
    CHECK(hipDeviceSynchronize());
    const double begin = NowMs();
    CHECK(hipMemcpy(to, from, kBytes, hipMemcpyDeviceToDevice));
    CHECK(hipDeviceSynchronize());
    copying += NowMs() - begin;
  }
  Truth::Finding("device-copies", copying).Print();
}

}  // namespace

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  if (mode == "mixed") Mixed();
  if (mode == "after_wait") AfterWait();
  if (mode == "pinned_before") PinnedBefore();
  if (mode == "ring") Ring(false);
  if (mode == "first") Ring(true);
  if (mode == "device") Device();
}
