// SPDX-License-Identifier: MIT
//
// A code object from a file, loaded at run time: by name and from memory, launched with an array of
// arguments and with a packed buffer, and one of its globals read and written.

#include "program.h"

namespace {

std::vector<char> ReadFile(const std::string& path) {
  FILE* file = fopen(path.c_str(), "rb");
  CHECK(file != nullptr, "cannot open %s", path.c_str());
  std::vector<char> data;
  char chunk[65536];
  for (size_t got; (got = fread(chunk, 1, sizeof(chunk), file)) > 0;)
    data.insert(data.end(), chunk, chunk + got);
  fclose(file);
  return data;
}

void Use(hipModule_t module, int bias) {
  hipFunction_t saxpy = nullptr;
  HIP_CALL(hipModuleGetFunction(&saxpy, module, "Saxpy"));
  hipDeviceptr_t global = {};
  size_t global_bytes = 0;
  HIP_CALL(hipModuleGetGlobal(&global, &global_bytes, module, "module_bias"));
  CHECK(global_bytes == sizeof(int), "module_bias has %zu bytes", global_bytes);
  int initial = 0;
  HIP_COPY(kD2H, sizeof(int), hipMemcpyDtoH(&initial, global, sizeof(int)));
  CHECK(initial == 100, "module_bias is %d, wanted 100", initial);
  HIP_COPY(kH2D, sizeof(int), hipMemcpyHtoD(global, &bias, sizeof(int)));

  int count = 777;
  float factor = 2;
  std::vector<float> x(count), y(count);
  for (int i = 0; i < count; ++i) x[i] = static_cast<float>(i), y[i] = static_cast<float>(i % 5);
  float* device_x = program::NewDevice(x);
  float* device_y = program::NewDevice(y);
  void* args[] = {&device_y, &device_x, &factor, &count};
  LAUNCH_CALL(Saxpy, hipModuleLaunchKernel(saxpy, (count + 63) / 64, 1, 1, 64, 1, 1, 0, nullptr,
                                           args, nullptr));
  struct {
    float* y;
    float* x;
    float factor;
    int count;
  } packed = {device_y, device_x, 1.0f, count};
  size_t packed_bytes = sizeof(packed);
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                   &packed_bytes, HIP_LAUNCH_PARAM_END};
  LAUNCH_CALL(Saxpy, hipModuleLaunchKernel(saxpy, (count + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr,
                                           nullptr, extra));
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<float> got = program::Download(device_y, count);
  for (int i = 0; i < count; ++i) {
    const float want = y[i] + 3 * x[i] + 2 * bias;
    CHECK(got[i] == want, "element %d is %g, wanted %g", i, got[i], want);
  }
  program::Free(device_x);
  program::Free(device_y);
}

}  // namespace

int main() {
  program::Begin("module_load");
  const std::string path = program::Sibling("kernels.co");
  hipModule_t from_file = nullptr, from_memory = nullptr;
  HIP_CALL(hipModuleLoad(&from_file, path.c_str()));
  const std::vector<char> image = ReadFile(path);
  HIP_CALL(hipModuleLoadData(&from_memory, image.data()));
  Use(from_file, 1);
  Use(from_memory, 50);  // has globals of its own
  hipFunction_t missing = nullptr;
  HIP_CALL_GIVES(hipErrorNotFound, hipModuleGetFunction(&missing, from_file, "NoSuchKernel"));
  HIP_CALL(hipModuleUnload(from_memory));
  HIP_CALL(hipModuleUnload(from_file));
  return program::Pass();
}
