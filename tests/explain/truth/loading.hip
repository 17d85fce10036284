// SPDX-License-Identifier: MIT
//
// Code objects, loaded while the GPU waits. loading MODE
//   modules   one after the other, between kernels
//   clean     one, before the work
#include <fstream>
#include <iterator>

#include "truth.h"

using namespace truth;

namespace {

// This program's own code for the GPU, as the compiler put it into the file.
std::string OwnCode() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string magic = "__CLANG_OFFLOAD_BUNDLE__";
  // A bundle's magic is followed by how many parts it has, which the constant above is not.
  size_t at = bytes.find(magic);
  while (at != std::string::npos && (bytes[at + magic.size()] < 1 || bytes[at + magic.size()] > 15))
    at = bytes.find(magic, at + 1);
  if (at == std::string::npos) {
    fprintf(stderr, "no code for a GPU in this program\n");
    exit(9);
  }
  return bytes.substr(at);
}

}  // namespace

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  const std::string code = OwnCode();
  BusyKernels gpu;
  double loading = 0;
  // Many modules in each gap: from a launch to the start of its kernel the GPU waits as well, on two
  // busy processors for more than a millisecond.
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < (mode == "modules" ? 36 : round == 0); ++i) {
      const double from = NowMs();
      hipModule_t module;
      CHECK(hipModuleLoadData(&module, code.data()));
      loading += NowMs() - from;
    }
    gpu.Launch(mode == "clean" ? 80 : 1);
    CHECK(hipDeviceSynchronize());
  }
  if (mode == "clean") {
    Truth().Add("busy_ms", gpu.Milliseconds()).Print();
  } else {
    Truth::Finding("code-loading", loading + gpu.first_launch_ms()).Print();
  }
}
