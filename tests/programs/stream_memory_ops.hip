// SPDX-License-Identifier: MIT
//
// Streams that write and wait for values in memory: one stream waits until the other has written,
// by hipStreamWaitValue and hipStreamWriteValue of 32 and 64 bits.

#include "program.h"

__global__ void Add(int* value, int addend) { *value += addend; }

__global__ void Double(int* value) { *value *= 2; }

int main() {
  program::Begin("stream_memory_ops");
  int supported = 0;
  HIP_CALL(hipDeviceGetAttribute(&supported, hipDeviceAttributeCanUseStreamWaitValue, 0));
  if (!supported) program::Skip("the device says it cannot wait for values");
  hipStream_t waiting = nullptr, writing = nullptr;
  HIP_CALL(hipStreamCreateWithFlags(&waiting, hipStreamNonBlocking));
  HIP_CALL(hipStreamCreateWithFlags(&writing, hipStreamNonBlocking));
  void *flag = nullptr, *flag64 = nullptr;
  HIP_CALL(hipExtMallocWithFlags(&flag, 8, hipMallocSignalMemory));
  HIP_CALL(hipExtMallocWithFlags(&flag64, 8, hipMallocSignalMemory));
  HIP_CALL(hipStreamWriteValue64(writing, flag, 0, 0));
  HIP_CALL(hipStreamWriteValue64(writing, flag64, 0, 0));
  HIP_CALL(hipStreamSynchronize(writing));
  int* value = program::NewDevice(std::vector<int>(1, 5));
  // The first kernel may make the runtime wait for set-up work on the same stream: not after a
  // wait.
  LAUNCH(Double, 1, 1, 0, waiting, value);
  HIP_CALL(hipStreamSynchronize(waiting));

  // The waiting stream is filled first; only the order that the values enforce gives (10 + 5) * 2
  // + 1.
  HIP_CALL(hipStreamWaitValue32(waiting, flag, 7, hipStreamWaitValueEq, 0xFFFFFFFF));
  LAUNCH(Double, 1, 1, 0, waiting, value);
  HIP_CALL(hipStreamWriteValue64(waiting, flag64, 1ull << 40, 0));
  LAUNCH(Add, 1, 1, 0, writing, value, 5);
  HIP_CALL(hipStreamWriteValue32(writing, flag, 7, 0));
  HIP_CALL(
      hipStreamWaitValue64(writing, flag64, 1ull << 40, hipStreamWaitValueGte, 0xFFFFFFFFFFFFFFFF));
  LAUNCH(Add, 1, 1, 0, writing, value, 1);
  HIP_CALL(hipStreamSynchronize(writing));
  HIP_CALL(hipStreamSynchronize(waiting));
  const int got = program::Download(value, 1)[0];
  CHECK(got == 31, "the value is %d, wanted 31: the streams did not wait", got);

  HIP_CALL(hipStreamDestroy(waiting));
  HIP_CALL(hipStreamDestroy(writing));
  program::Free(value);
  program::Free(flag);
  program::Free(flag64);
  return program::Pass();
}
