// SPDX-License-Identifier: MIT
//
// hiprtc: a kernel compiled from text at run time for the device that is there, with an option and
// a template instance by name, loaded and launched; and an error that is reported as one. The
// hiprtc calls themselves are not HIP calls and are not counted.

#include <hip/hiprtc.h>

#include "program.h"

namespace {

const char kSource[] = R"(
template <typename T>
__global__ void Power(const T* in, T* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  T product = 1;
  for (int k = 0; k < EXPONENT; ++k) product *= in[i];
  out[i] = product;
}
)";

void Rtc(hiprtcResult result, const char* what, hiprtcProgram program_handle = nullptr) {
  if (result == HIPRTC_SUCCESS) return;
  size_t size = 0;
  std::string log;
  if (program_handle != nullptr &&
      hiprtcGetProgramLogSize(program_handle, &size) == HIPRTC_SUCCESS) {
    log.resize(size);
    if (hiprtcGetProgramLog(program_handle, &log[0]) != HIPRTC_SUCCESS) log.clear();
  }
  program::Fail("%s gave %s: %s", what, hiprtcGetErrorString(result), log.c_str());
}

}  // namespace

int main() {
  program::Begin("rtc_compile");
  hipDeviceProp_t properties;
  HIP_CALL(hipGetDeviceProperties(&properties, 0));
  const std::string architecture = std::string("--offload-arch=") + properties.gcnArchName;
  hiprtcProgram source = nullptr;
  Rtc(hiprtcCreateProgram(&source, kSource, "power.hip", 0, nullptr, nullptr),
      "hiprtcCreateProgram");
  Rtc(hiprtcAddNameExpression(source, "Power<double>"), "hiprtcAddNameExpression");
  const char* options[] = {architecture.c_str(), "-DEXPONENT=5"};
  Rtc(hiprtcCompileProgram(source, 2, options), "hiprtcCompileProgram", source);
  const char* lowered = nullptr;
  Rtc(hiprtcGetLoweredName(source, "Power<double>", &lowered), "hiprtcGetLoweredName");
  const std::string name = lowered;
  size_t code_size = 0;
  Rtc(hiprtcGetCodeSize(source, &code_size), "hiprtcGetCodeSize");
  std::vector<char> code(code_size);
  Rtc(hiprtcGetCode(source, code.data()), "hiprtcGetCode");
  Rtc(hiprtcDestroyProgram(&source), "hiprtcDestroyProgram");

  hipModule_t module = nullptr;
  hipFunction_t power = nullptr;
  HIP_CALL(hipModuleLoadData(&module, code.data()));
  HIP_CALL(hipModuleGetFunction(&power, module, name.c_str()));
  int count = 500;
  std::vector<double> in(count);
  for (int i = 0; i < count; ++i) in[i] = i % 13 - 6;
  double* device_in = program::NewDevice(in);
  double* device_out = program::NewDevice<double>(count);
  void* args[] = {&device_in, &device_out, &count};
  LAUNCH_CALL(Power, hipModuleLaunchKernel(power, (count + 63) / 64, 1, 1, 64, 1, 1, 0, nullptr,
                                           args, nullptr));
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<double> out = program::Download(device_out, count);
  for (int i = 0; i < count; ++i) {
    const double want = in[i] * in[i] * in[i] * in[i] * in[i];
    CHECK(out[i] == want, "%g to the fifth gave %g, wanted %g", in[i], out[i], want);
  }
  program::Free(device_in);
  program::Free(device_out);
  HIP_CALL(hipModuleUnload(module));

  hiprtcProgram broken = nullptr;
  Rtc(hiprtcCreateProgram(&broken, "__global__ void K() { oops }", "broken.hip", 0, nullptr,
                          nullptr),
      "hiprtcCreateProgram");
  CHECK(hiprtcCompileProgram(broken, 1, options) == HIPRTC_ERROR_COMPILATION,
        "a broken program was compiled");
  Rtc(hiprtcDestroyProgram(&broken), "hiprtcDestroyProgram");
  return program::Pass();
}
