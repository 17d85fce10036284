// SPDX-License-Identifier: MIT
//
// An OpenCL program that adds two vectors a number of times and counts what it launched, in the
// form of tests/programs. It knows nothing of HIP: the recorder sees it at the queue.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr const char* kSource =
    "kernel void OpenClAdd(global const float* a, global const float* b, global float* c) {"
    "  size_t i = get_global_id(0); c[i] = a[i] + b[i]; }";
constexpr size_t kItems = 4096;
constexpr int kLaunches = 25;

void Check(cl_int status, const char* what) {
  if (status == CL_SUCCESS) return;
  std::printf("FAIL opencl_add: %s gives %d\n", what, status);
  std::exit(1);
}

}  // namespace

int main() {
  cl_platform_id platforms[8];
  cl_uint platform_count = 0;
  if (clGetPlatformIDs(8, platforms, &platform_count) != CL_SUCCESS || platform_count == 0) {
    std::printf("SKIP opencl_add: no OpenCL platform; install rocm-opencl-icd\n");
    return 77;
  }
  cl_device_id device = nullptr;
  for (cl_uint i = 0; i < platform_count && device == nullptr; ++i) {
    char name[256] = "";
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, nullptr);
    if (std::strstr(name, "AMD") != nullptr)
      clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_GPU, 1, &device, nullptr);
  }
  if (device == nullptr) {
    std::printf("SKIP opencl_add: no GPU on an AMD platform\n");
    return 77;
  }
  cl_int status = CL_SUCCESS;
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
  Check(status, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  Check(status, "clCreateCommandQueue");
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &status);
  Check(status, "clCreateProgramWithSource");
  Check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "OpenClAdd", &status);
  Check(status, "clCreateKernel");

  std::vector<float> a(kItems), b(kItems), c(kItems);
  for (size_t i = 0; i < kItems; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = 2.0f * static_cast<float>(i);
  }
  const auto buffer = [&](std::vector<float>& from) {
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   kItems * sizeof(float), from.data(), &status);
    Check(status, "clCreateBuffer");
    return memory;
  };
  cl_mem arguments[] = {buffer(a), buffer(b), buffer(c)};
  for (cl_uint i = 0; i < 3; ++i)
    Check(clSetKernelArg(kernel, i, sizeof(cl_mem), &arguments[i]), "clSetKernelArg");
  for (int i = 0; i < kLaunches; ++i)
    Check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  Check(clEnqueueReadBuffer(queue, arguments[2], CL_TRUE, 0, kItems * sizeof(float), c.data(), 0,
                            nullptr, nullptr),
        "clEnqueueReadBuffer");
  for (size_t i = 0; i < kItems; ++i) {
    if (c[i] == 3.0f * static_cast<float>(i)) continue;
    std::printf("FAIL opencl_add: c[%zu] is %f\n", i, c[i]);
    return 1;
  }
  std::printf("counts process=main kernels=%d copies=0 memsets=0 hip_calls=0\n", kLaunches);
  std::printf("counts-calls process=main\ncounts-kernels process=main OpenClAdd=%d\n", kLaunches);
  std::printf("PASS opencl_add\n");
  return 0;
}
