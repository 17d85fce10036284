// SPDX-License-Identifier: MIT
//
// Host functions in stream order: hipLaunchHostFunc and hipStreamAddCallback run after the work
// before them and before the work after them. HIP 5.2 has only the second.

#include <atomic>

#include "program.h"

__global__ void Next(int* value) { *value = *value * 2 + 1; }

namespace {

struct Step {
  int* value;  // pinned, written by the kernels
  int seen = -1;
  std::atomic<int> calls{0};
};

void Look(void* data) {
  Step* step = static_cast<Step*>(data);
  step->seen = *step->value;
  *step->value += 100;  // the kernel after us must see this
  step->calls += 1;
}

void LookBack(hipStream_t, hipError_t status, void* data) {
  Step* step = static_cast<Step*>(data);
  step->seen = status == hipSuccess ? *step->value : -2;
  step->calls += 1;
}

#if HIP_VERSION_MAJOR >= 6
#define ADD_LOOK(stream, step) HIP_CALL(hipLaunchHostFunc(stream, Look, step))
#else
void LookOf(hipStream_t, hipError_t, void* data) { Look(data); }
#define ADD_LOOK(stream, step) HIP_CALL(hipStreamAddCallback(stream, LookOf, step, 0))
#endif

}  // namespace

int main() {
  program::Begin("host_callback");
  hipStream_t stream = nullptr;
  HIP_CALL(hipStreamCreate(&stream));
  int* value = nullptr;
  HIP_CALL(hipHostMalloc(&value, sizeof(int), hipHostMallocCoherent));
  *value = 1;
  Step first, second, third;
  first.value = second.value = third.value = value;
  LAUNCH(Next, 1, 1, 0, stream, value);
  ADD_LOOK(stream, &first);
  LAUNCH(Next, 1, 1, 0, stream, value);
  HIP_CALL(hipStreamAddCallback(stream, LookBack, &second, 0));
  LAUNCH(Next, 1, 1, 0, stream, value);
  ADD_LOOK(stream, &third);
  HIP_CALL(hipStreamSynchronize(stream));
  CHECK(first.calls == 1 && second.calls == 1 && third.calls == 1, "called %d, %d and %d times",
        first.calls.load(), second.calls.load(), third.calls.load());
  CHECK(first.seen == 3, "the first saw %d, wanted 3", first.seen);
  CHECK(second.seen == 207, "the second saw %d, wanted 207", second.seen);
  CHECK(third.seen == 415 && *value == 515, "the third saw %d, wanted 415; the end is %d",
        third.seen, *value);
  HIP_CALL(hipStreamDestroy(stream));
  HIP_CALL(hipHostFree(value));
  return program::Pass();
}
