// SPDX-License-Identifier: MIT
//
// Kernels with few workgroups that leave nothing unused. shared_gpu MODE
//   streams   eight streams fill the GPU together
//   hidden    of one kernel's two shapes the small one runs beside the large one
#include "truth.h"

using namespace truth;

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  BusyKernels gpu;
  std::vector<hipStream_t> streams(mode == "streams" ? 8 : 2);
  for (hipStream_t& stream : streams) {
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    gpu.Launch(0.01, stream);
  }
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < 10; ++i) {
    if (mode == "streams") {
      for (hipStream_t stream : streams) gpu.Launch(50, stream, gpu.units() / 2);
      for (hipStream_t stream : streams) CHECK(hipStreamSynchronize(stream));
    } else {
      gpu.Launch(40, streams[1], 1);
      gpu.Launch(60, streams[0]);
      CHECK(hipStreamSynchronize(streams[0]));
    }
  }
  CHECK(hipDeviceSynchronize());
  Truth().Add("launched", gpu.launched()).Print();
}
