// SPDX-License-Identifier: MIT
//
// Two streams and one event: the second stream consumes what the first produces, and both do work
// of their own that needs no order.

#include "program.h"

__global__ void Produce(int* data, int count, int round) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = i * 3 + round;
}

__global__ void Consume(const int* data, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] += data[i] ^ 0x33;
}

int main() {
  program::Begin("two_streams");
  const int count = 10000, rounds = 8, blocks = (count + 127) / 128;
  hipStream_t producer = nullptr, consumer = nullptr;
  HIP_CALL(hipStreamCreateWithFlags(&producer, hipStreamNonBlocking));
  HIP_CALL(hipStreamCreateWithFlags(&consumer, hipStreamNonBlocking));
  hipEvent_t produced = nullptr, consumed = nullptr;
  HIP_CALL(hipEventCreateWithFlags(&produced, hipEventDisableTiming));
  HIP_CALL(hipEventCreateWithFlags(&consumed, hipEventDisableTiming));
  int* data = program::NewDevice<int>(count);
  int* own = program::NewDevice<int>(count);
  int* out = program::NewDevice(std::vector<int>(count, 0));
  for (int round = 0; round < rounds; ++round) {
    LAUNCH(Produce, blocks, 128, 0, producer, data, count, round);
    HIP_CALL(hipEventRecord(produced, producer));
    LAUNCH(Produce, blocks, 128, 0, producer, own, count, round + 100);
    HIP_CALL(hipStreamWaitEvent(consumer, produced, 0));
    LAUNCH(Consume, blocks, 128, 0, consumer, data, out, count);
    HIP_CALL(hipEventRecord(consumed, consumer));
    HIP_CALL(hipStreamWaitEvent(producer, consumed, 0));
  }
  HIP_CALL(hipStreamSynchronize(consumer));
  HIP_CALL(hipStreamSynchronize(producer));
  HIP_CALL(hipEventQuery(consumed));
  const std::vector<int> result = program::Download(out, count);
  const std::vector<int> other = program::Download(own, count);
  for (int i = 0; i < count; ++i) {
    int want = 0;
    for (int round = 0; round < rounds; ++round) want += (i * 3 + round) ^ 0x33;
    CHECK(result[i] == want, "element %d is %d, wanted %d: the streams ran out of order", i,
          result[i], want);
    CHECK(other[i] == i * 3 + rounds + 99, "the producer's own element %d is %d", i, other[i]);
  }
  HIP_CALL(hipEventDestroy(produced));
  HIP_CALL(hipEventDestroy(consumed));
  HIP_CALL(hipStreamDestroy(producer));
  HIP_CALL(hipStreamDestroy(consumer));
  for (int* pointer : {data, own, out}) program::Free(pointer);
  return program::Pass();
}
