// SPDX-License-Identifier: MIT
//
// An OpenCL program through Debian's rocm-opencl-icd: kernels compiled at run time, buffers,
// images aside, local memory with barriers, atomics, vectors, doubles and built-in functions,
// events with times, and a sub-buffer copy, against the same sums made here.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

#include <cmath>
#include <cstring>

#include "library_test.h"

using library_test::Compare;
using library_test::Fail;
using library_test::Numbers;

namespace {

const char* kSource = R"(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void Axpy(global const float* x, global float* y, float alpha) {
  size_t i = get_global_id(0);
  y[i] = fma(alpha, x[i], y[i]);
}
kernel void Sum(global const int* x, global int* total, local int* part) {
  uint l = get_local_id(0);
  part[l] = x[get_global_id(0)];
  for (uint step = get_local_size(0) / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < step) part[l] += part[l + step];
  }
  if (l == 0) atomic_add(total, part[0]);
}
kernel void Transpose(global const double* from, global double* to, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < width && y < height) to[x * height + y] = from[y * width + x];
}
kernel void Vectors(global const uchar4* x, global uint4* y) {
  size_t i = get_global_id(0);
  uint4 v = convert_uint4(x[i]);
  y[i] = rotate(v.wzyx, (uint4)(3)) ^ popcount(v) + (uint4)(clz(v.x), mul24(v.x, v.y), mad_hi(v.z, 0x80000000u, v.w), abs_diff(v.x, v.w));
}
kernel void Functions(global const float* x, global float* y) {
  size_t i = get_global_id(0);
  y[i] = exp(x[i]) + sin(x[i]) * native_sqrt(fabs(x[i])) + pow(fabs(x[i]) + 1.0f, 1.5f);
}
)";

constexpr size_t kCount = 512;

cl_context g_context;
cl_command_queue g_queue;
cl_program g_program;

template <typename T>
cl_mem Buffer(const std::vector<T>& values) {
  cl_int error;
  cl_mem buffer = clCreateBuffer(g_context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                 values.size() * sizeof(T), const_cast<T*>(values.data()), &error);
  if (error != CL_SUCCESS) Fail("clCreateBuffer gave " + std::to_string(error));
  return buffer;
}

template <typename T>
std::vector<double> Read(cl_mem buffer, size_t count) {
  std::vector<T> values(count);
  EXPECT_OK(clEnqueueReadBuffer(g_queue, buffer, CL_TRUE, 0, count * sizeof(T), values.data(), 0,
                                nullptr, nullptr),
            CL_SUCCESS);
  return {values.begin(), values.end()};
}

struct Argument {
  size_t size;
  const void* value;
};
Argument Of(const cl_mem& buffer) {
  return {.size = sizeof(cl_mem), .value = reinterpret_cast<const void*>(&buffer)};  // NOLINT
}

void Run(const char* name, const std::vector<Argument>& arguments, std::vector<size_t> global,
         std::vector<size_t> local) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(g_program, name, &error);
  if (error != CL_SUCCESS) Fail(std::string("clCreateKernel ") + name);
  for (size_t i = 0; i < arguments.size(); ++i)
    EXPECT_OK(
        clSetKernelArg(kernel, static_cast<cl_uint>(i), arguments[i].size, arguments[i].value),
        CL_SUCCESS);
  cl_event event;
  EXPECT_OK(clEnqueueNDRangeKernel(g_queue, kernel, static_cast<cl_uint>(global.size()), nullptr,
                                   global.data(), local.data(), 0, nullptr, &event),
            CL_SUCCESS);
  EXPECT_OK(clWaitForEvents(1, &event), CL_SUCCESS);
  cl_ulong start = 0, end = 0;
  EXPECT_OK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, 8, &start, nullptr),
            CL_SUCCESS);
  EXPECT_OK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, &end, nullptr), CL_SUCCESS);
  if (start == 0 || end <= start) Fail(std::string("no time was spent in ") + name);
  clReleaseEvent(event);
  clReleaseKernel(kernel);
}

void Open() {
  cl_platform_id platforms[8];
  cl_uint count = 0;
  EXPECT_OK(clGetPlatformIDs(8, platforms, &count), CL_SUCCESS);
  cl_device_id device = nullptr;
  for (cl_uint i = 0; i < count && device == nullptr; ++i) {
    char name[256] = "";
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, nullptr);
    if (std::strstr(name, "AMD Accelerated") != nullptr &&
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_GPU, 1, &device, nullptr) != CL_SUCCESS)
      device = nullptr;
  }
  if (device == nullptr) Fail("OpenCL found no AMD GPU");
  char name[256] = "", board[256] = "";
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, nullptr);
  clGetDeviceInfo(device, 0x4038, sizeof(board), board, nullptr);  // CL_DEVICE_BOARD_NAME_AMD
  std::printf("device %s, %s\n", name, board);
  cl_int error;
  g_context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  if (error != CL_SUCCESS) Fail("clCreateContext");
  cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  g_queue = clCreateCommandQueueWithProperties(g_context, device, properties, &error);
  if (error != CL_SUCCESS) Fail("clCreateCommandQueueWithProperties");
  g_program = clCreateProgramWithSource(g_context, 1, &kSource, nullptr, &error);
  if (clBuildProgram(g_program, 1, &device, "-cl-std=CL2.0", nullptr, nullptr) != CL_SUCCESS) {
    std::vector<char> log(16384);
    clGetProgramBuildInfo(g_program, device, CL_PROGRAM_BUILD_LOG, log.size() - 1, log.data(),
                          nullptr);
    Fail(std::string("clBuildProgram: ") + log.data());
  }
}

uint32_t Rotate(uint32_t value, unsigned by) { return value << by | value >> (32 - by); }

}  // namespace

int main() {
  Open();
  Numbers numbers(4);
  {
    std::vector<float> x(kCount), y(kCount);
    std::vector<double> want(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      x[i] = static_cast<float>(numbers.Small(50));
      y[i] = static_cast<float>(numbers.Small(50));
      want[i] = 2.5 * x[i] + y[i];
    }
    cl_mem bx = Buffer(x), by = Buffer(y);
    float alpha = 2.5f;
    Run("Axpy", {Of(bx), Of(by), {4, &alpha}}, {kCount}, {64});
    Compare("axpy", Read<float>(by, kCount), want);
    // A part of one buffer onto another, on the GPU.
    EXPECT_OK(clEnqueueCopyBuffer(g_queue, by, bx, 128, 256, 512, 0, nullptr, nullptr), CL_SUCCESS);
    std::vector<double> copied(x.begin(), x.end());
    for (size_t i = 0; i < 128; ++i) copied[64 + i] = want[32 + i];
    Compare("copy", Read<float>(bx, kCount), copied);
    float pattern = 7;
    EXPECT_OK(clEnqueueFillBuffer(g_queue, bx, &pattern, 4, 0, 1024, 0, nullptr, nullptr),
              CL_SUCCESS);
    for (size_t i = 0; i < 256; ++i) copied[i] = 7;
    Compare("fill", Read<float>(bx, kCount), copied);
  }
  {
    std::vector<int> x(kCount), total(1);
    double want = 0;
    for (int& value : x) want += value = numbers.Small(1000);
    cl_mem bx = Buffer(x), bt = Buffer(total);
    Run("Sum", {Of(bx), Of(bt), {64 * 4, nullptr}}, {kCount}, {64});
    Compare("sum", Read<int>(bt, 1), {want});
  }
  {
    int width = 21, height = 13;
    std::vector<double> x(static_cast<size_t>(width * height)), want(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = numbers.Unit();
    for (int row = 0; row < height; ++row)
      for (int column = 0; column < width; ++column)
        want[column * height + row] = x[row * width + column];
    cl_mem bx = Buffer(x), by = Buffer(std::vector<double>(x.size()));
    Run("Transpose", {Of(bx), Of(by), {4, &width}, {4, &height}}, {24, 16}, {8, 8});
    Compare("transpose", Read<double>(by, x.size()), want);
  }
  {
    std::vector<uint8_t> x(4 * 64);
    for (uint8_t& value : x) value = static_cast<uint8_t>(numbers.Next());
    std::vector<double> want;
    for (size_t i = 0; i < 64; ++i) {
      uint32_t v[4] = {x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]};
      uint32_t added[4] = {v[0] == 0 ? 32u : static_cast<uint32_t>(__builtin_clz(v[0])),
                           v[0] * v[1],
                           static_cast<uint32_t>(uint64_t{v[2]} * 0x80000000u >> 32) + v[3],
                           v[0] > v[3] ? v[0] - v[3] : v[3] - v[0]};
      for (int k = 0; k < 4; ++k)
        want.push_back(Rotate(v[3 - k], 3) ^
                       (static_cast<uint32_t>(__builtin_popcount(v[k])) + added[k]));
    }
    cl_mem bx = Buffer(x), by = Buffer(std::vector<uint32_t>(4 * 64));
    Run("Vectors", {Of(bx), Of(by)}, {64}, {64});
    Compare("vectors", Read<uint32_t>(by, 4 * 64), want);
  }
  {
    std::vector<float> x(kCount);
    std::vector<double> want;
    for (float& value : x) {
      value = static_cast<float>(numbers.Unit() * 3);
      double v = value;
      want.push_back(std::exp(v) + std::sin(v) * std::sqrt(std::fabs(v)) +
                     std::pow(std::fabs(v) + 1, 1.5));
    }
    cl_mem bx = Buffer(x), by = Buffer(std::vector<float>(kCount));
    Run("Functions", {Of(bx), Of(by)}, {kCount}, {128});
    Compare("functions", Read<float>(by, kCount), want, 1e-4);
  }
  return library_test::Finish("opencl_program");
}
