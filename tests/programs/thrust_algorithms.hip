// SPDX-License-Identifier: MIT
//
// thrust: reduce, scan and sort on device vectors, against the host's. thrust is all headers, so
// its HIP calls are made by this program, only not written in it: the linker's --wrap leads each of
// the functions below through a counter (CMakeLists.txt lists the same names and fails on one
// missing). Kernels are counted under the name Thrust.

#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

#include <algorithm>
#include <numeric>

#include "program.h"

#define WRAP(type, name, parameters, arguments) \
  type __real_##name parameters;                \
  type __wrap_##name parameters {               \
    ::program::CountCall(#name);                \
    return __real_##name arguments;             \
  }

namespace {

void CountCopy(hipMemcpyKind kind, size_t bytes) {
  const program::CopyKind kinds[] = {program::kH2H, program::kH2D, program::kD2H, program::kD2D};
  CHECK(kind >= hipMemcpyHostToHost && kind <= hipMemcpyDeviceToDevice,
        "thrust made a copy of kind %d", kind);
  if (bytes > 0) program::CountCopies(kinds[kind], bytes, 1);
}

}  // namespace

extern "C" {
WRAP(hipError_t, __hipPopCallConfiguration,
     (dim3 * grid, dim3* block, size_t* lds, hipStream_t* stream), (grid, block, lds, stream))
WRAP(hipError_t, __hipPushCallConfiguration,
     (dim3 grid, dim3 block, size_t lds, hipStream_t stream), (grid, block, lds, stream))
WRAP(hipError_t, hipDeviceGetAttribute, (int* value, hipDeviceAttribute_t attribute, int device),
     (value, attribute, device))
WRAP(hipError_t, hipFree, (void* pointer), (pointer))
WRAP(hipError_t, hipGetDevice, (int* device), (device))
WRAP(hipError_t, hipGetDevicePropertiesR0600, (hipDeviceProp_t * properties, int device),
     (properties, device))
WRAP(hipError_t, hipGetLastError, (), ())
WRAP(int, hipGetStreamDeviceId, (hipStream_t stream), (stream))
WRAP(hipError_t, hipMalloc, (void** pointer, size_t bytes), (pointer, bytes))
WRAP(hipError_t, hipPeekAtLastError, (), ())
WRAP(hipError_t, hipStreamSynchronize, (hipStream_t stream), (stream))

hipError_t __real_hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t);
hipError_t __wrap_hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** args,
                                  size_t lds, hipStream_t stream) {
  program::CountCall("hipLaunchKernel");
  program::CountKernels("Thrust", 1);
  return __real_hipLaunchKernel(kernel, grid, block, args, lds, stream);
}

hipError_t __real_hipMemcpyAsync(void*, const void*, size_t, hipMemcpyKind, hipStream_t);
hipError_t __wrap_hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                 hipStream_t stream) {
  program::CountCall("hipMemcpyAsync");
  CountCopy(kind, bytes);
  return __real_hipMemcpyAsync(to, from, bytes, kind, stream);
}

hipError_t __real_hipMemcpyWithStream(void*, const void*, size_t, hipMemcpyKind, hipStream_t);
hipError_t __wrap_hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                      hipStream_t stream) {
  program::CountCall("hipMemcpyWithStream");
  CountCopy(kind, bytes);
  return __real_hipMemcpyWithStream(to, from, bytes, kind, stream);
}

hipError_t __real_hipMemsetAsync(void*, int, size_t, hipStream_t);
hipError_t __wrap_hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
  program::CountCall("hipMemsetAsync");
  program::CountMemsets(bytes, 1);
  return __real_hipMemsetAsync(to, value, bytes, stream);
}
}

int main() {
  program::Begin("thrust_algorithms");
  const int count = 5000;
  std::vector<int> in(count), want(count), got(count);
  program::Random random(41);
  for (auto& value : in) value = static_cast<int>(random.Below(100000)) - 50000;
  {
    thrust::device_vector<int> device(in.begin(), in.end());
    const int sum = thrust::reduce(device.begin(), device.end());
    CHECK(sum == std::accumulate(in.begin(), in.end(), 0), "reduce gave %d", sum);

    thrust::device_vector<int> scanned(count);
    thrust::inclusive_scan(device.begin(), device.end(), scanned.begin());
    std::partial_sum(in.begin(), in.end(), want.begin());
    thrust::copy(scanned.begin(), scanned.end(), got.begin());
    CHECK(got == want, "inclusive_scan is wrong");

    thrust::sort(device.begin(), device.end());
    thrust::copy(device.begin(), device.end(), got.begin());
    std::sort(in.begin(), in.end());
    CHECK(got == in, "sort is wrong");
  }
  return program::Pass();
}
