// SPDX-License-Identifier: MIT
//
// A libcuda.so.1 that does CUDA's work with HIP, as ZLUDA does: a few functions of the driver's
// interface. With LAYER_NAME it says who made it.

#include <hip/hip_runtime_api.h>

#define CUDA_FUNCTION extern "C" __attribute__((visibility("default"))) int

#ifdef LAYER_NAME
extern "C" __attribute__((visibility("default"), used)) const char layer_name[] = LAYER_NAME;
#endif

CUDA_FUNCTION cuInit(unsigned flags) { return hipInit(flags); }

CUDA_FUNCTION cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  void* memory = nullptr;
  const hipError_t error = hipMalloc(&memory, bytes);
  *address = reinterpret_cast<unsigned long long>(memory);
  return error;
}

CUDA_FUNCTION cuMemFree_v2(unsigned long long address) {
  return hipFree(reinterpret_cast<void*>(address));
}

CUDA_FUNCTION cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  return hipMemcpy(reinterpret_cast<void*>(to), from, bytes, hipMemcpyHostToDevice);
}

CUDA_FUNCTION cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  return hipMemcpy(to, reinterpret_cast<void*>(from), bytes, hipMemcpyDeviceToHost);
}

CUDA_FUNCTION cuModuleLoad(void** module, const char* path) {
  return hipModuleLoad(reinterpret_cast<hipModule_t*>(module), path);
}

CUDA_FUNCTION cuModuleGetFunction(void** function, void* module, const char* name) {
  return hipModuleGetFunction(reinterpret_cast<hipFunction_t*>(function),
                              static_cast<hipModule_t>(module), name);
}

CUDA_FUNCTION cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                             void* stream, void** arguments, void** extra) {
  return hipModuleLaunchKernel(static_cast<hipFunction_t>(function), grid_x, grid_y, grid_z,
                               block_x, block_y, block_z, shared, static_cast<hipStream_t>(stream),
                               arguments, extra);
}
