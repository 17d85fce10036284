// SPDX-License-Identifier: MIT
//
// Code objects, loaded while the GPU waits. loading MODE
//   modules   one after the other, between kernels
//   compile   each is made for a while before it is loaded
//   search    variants of a kernel are tried, and one of them is used from then on
//   clean     one, before the work
#include <fstream>
#include <iterator>
#include <utility>

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

template <int... kNames>
void TryVariants(BusyKernels& gpu, std::integer_sequence<int, kNames...>) {
  (gpu.Launch<kNames>(10), ...);
}

}  // namespace

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  const std::string code = OwnCode();
  BusyKernels gpu;
  if (mode == "search") {
    const double from = NowMs();
    for (int i = 0; i < 3; ++i) TryVariants(gpu, std::make_integer_sequence<int, 9>());
    CHECK(hipDeviceSynchronize());
    const double searching = NowMs() - from;
    for (int i = 0; i < 40; ++i) gpu.Launch<9>(5);
    CHECK(hipDeviceSynchronize());
    Truth::Finding("library-search", searching).Print();
    return 0;
  }
  if (mode == "compile") {
    double making = 0;
    for (int i = 0; i < 12; ++i) {
      const double from = NowMs();
      SleepMs(30);
      hipModule_t module;
      CHECK(hipModuleLoadData(&module, code.data()));
      making += NowMs() - from;
      gpu.Launch(10);
      CHECK(hipDeviceSynchronize());
    }
    Truth::Finding("compilation", making).Add("what", "hipModuleLoadData").Print();
    return 0;
  }
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
