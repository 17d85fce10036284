// SPDX-License-Identifier: MIT
//
// Every spelling of an asynchronous one-dimensional copy, chained on two streams, and the
// driver-style synchronous ones.

#include "program.h"

int main() {
  program::Begin("copy_async");
  const size_t count = 300000;
  const size_t bytes = count * sizeof(uint32_t);
  std::vector<uint32_t> in(count), out(count), pageable_out(count);
  program::Random random(7);
  for (auto& word : in) word = static_cast<uint32_t>(random.Next());
  uint32_t* pinned = nullptr;
  HIP_CALL(hipHostMalloc(&pinned, bytes, hipHostMallocDefault));
  memcpy(pinned, in.data(), bytes);
  hipStream_t streams[2];
  for (auto& stream : streams) HIP_CALL(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  uint32_t* a = program::NewDevice<uint32_t>(count);
  uint32_t* b = program::NewDevice<uint32_t>(count);
  uint32_t* c = program::NewDevice<uint32_t>(count);

  // Stream 0: pinned -> a -> b -> pageable.
  HIP_COPY(kH2D, bytes, hipMemcpyAsync(a, pinned, bytes, hipMemcpyHostToDevice, streams[0]));
  HIP_COPY(kD2D, bytes, hipMemcpyAsync(b, a, bytes, hipMemcpyDeviceToDevice, streams[0]));
  HIP_COPY(kD2H, bytes, hipMemcpyAsync(out.data(), b, bytes, hipMemcpyDeviceToHost, streams[0]));
  // Stream 1: pageable -> c -> pageable, in two halves.
  const size_t half = bytes / 2;
  const hipDeviceptr_t c_low = reinterpret_cast<hipDeviceptr_t>(c);
  const hipDeviceptr_t c_high = reinterpret_cast<hipDeviceptr_t>(c + count / 2);
  HIP_COPY(kH2D, half, hipMemcpyHtoDAsync(c_low, in.data(), half, streams[1]));
  HIP_COPY(kH2D, half, hipMemcpyHtoDAsync(c_high, in.data() + count / 2, half, streams[1]));
  HIP_COPY(kD2H, bytes, hipMemcpyDtoHAsync(pageable_out.data(), c_low, bytes, streams[1]));
  for (auto& stream : streams) HIP_CALL(hipStreamSynchronize(stream));
  CHECK(out == in, "the chain through pinned memory gave other data");
  CHECK(pageable_out == in, "the two halves gave other data");

  HIP_COPY(kH2D, half, hipMemcpyHtoD(reinterpret_cast<hipDeviceptr_t>(a), in.data() + 1, half));
  HIP_COPY(kD2D, half,
           hipMemcpyDtoD(reinterpret_cast<hipDeviceptr_t>(b), reinterpret_cast<hipDeviceptr_t>(a),
                         half));
  HIP_CALL(hipDeviceSynchronize());  // a copy within the device need not have ended
  HIP_COPY(kD2D, half,
           hipMemcpyDtoDAsync(c_high, reinterpret_cast<hipDeviceptr_t>(b), half, streams[1]));
  HIP_COPY(kD2H, half,
           hipMemcpyWithStream(out.data(), c + count / 2, half, hipMemcpyDeviceToHost, streams[1]));
  HIP_COPY(kD2H, half,
           hipMemcpyDtoH(out.data() + count / 2, reinterpret_cast<hipDeviceptr_t>(b), half));
  CHECK(memcmp(out.data(), in.data() + 1, half) == 0, "hipMemcpyWithStream gave other data");
  CHECK(memcmp(out.data() + count / 2, in.data() + 1, half) == 0, "hipMemcpyDtoH gave other data");

  for (auto& stream : streams) HIP_CALL(hipStreamDestroy(stream));
  for (uint32_t* pointer : {a, b, c}) program::Free(pointer);
  HIP_CALL(hipHostFree(pinned));
  return program::Pass();
}
