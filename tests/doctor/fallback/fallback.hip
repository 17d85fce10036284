// SPDX-License-Identifier: MIT
//
// Computes the same sum with the GPU, without it, or half of each, as its argument says, and always
// prints the right result and ends with 0: whether it ran on the GPU is for `rochound doctor --ran`
// to find out.
//
//   malloc   asks for absurdly much memory, does not get it, and goes on with the CPU
//   late     a few kernels, then the same
//   ranges   operators in roctx ranges: matmul on the GPU, gelu on the CPU, softmax half and half
//   copies   as a framework falls back: one operator copies to the host and back, and computes there;
//            beside a model that is on the CPU on purpose, with an operator of the same name
//   healthy  the same operators, all on the GPU
//   quit     uses the GPU and leaves at once, without a chance for anybody to tidy up
//   retry    asks for too much, then for less, and uses the GPU

#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

__global__ void Square(const uint32_t* in, uint32_t* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = in[i] * in[i];
}

namespace {

constexpr int kCount = 1024;
constexpr size_t kAbsurd = size_t{1} << 50;

int (*push)(const char*);
int (*pop)();

[[noreturn]] void Fail(const char* what) {
  printf("FAIL fallback: %s\n", what);
  fflush(stdout);
  _exit(1);
}

void FindRoctx() {
  void* library = dlopen("libroctx64.so.4", RTLD_LAZY);
  if (library == nullptr) Fail("no libroctx64.so.4");
  push = reinterpret_cast<int (*)(const char*)>(dlsym(library, "roctxRangePushA"));
  pop = reinterpret_cast<int (*)()>(dlsym(library, "roctxRangePop"));
  if (push == nullptr || pop == nullptr) Fail("no roctxRangePushA");
}

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// As slow as a CPU is where a GPU should work.
uint32_t OnCpu(const std::vector<uint32_t>& in, double seconds) {
  uint32_t sum = 0;
  const double start = CpuSeconds();
  do {
    sum = 0;
    for (const uint32_t value : in) sum += value * value;
  } while (CpuSeconds() - start < seconds);
  return sum;
}

uint32_t OnGpu(const std::vector<uint32_t>& in) {
  constexpr size_t kBytes = kCount * sizeof(uint32_t);
  void* from = nullptr;
  void* to = nullptr;
  if (hipMalloc(&from, kBytes) != hipSuccess || hipMalloc(&to, kBytes) != hipSuccess)
    Fail("memory");
  if (hipMemcpy(from, in.data(), kBytes, hipMemcpyHostToDevice) != hipSuccess) Fail("copy");
  Square<<<kCount / 64, 64>>>(static_cast<uint32_t*>(from), static_cast<uint32_t*>(to), kCount);
  std::vector<uint32_t> out(kCount);
  if (hipMemcpy(out.data(), to, kBytes, hipMemcpyDeviceToHost) != hipSuccess) Fail("kernel");
  if (hipFree(from) != hipSuccess || hipFree(to) != hipSuccess) Fail("free");
  uint32_t sum = 0;
  for (const uint32_t value : out) sum += value;
  return sum;
}

uint32_t Operator(const char* name, const std::vector<uint32_t>& in, bool on_gpu) {
  push(name);
  const uint32_t sum = on_gpu ? OnGpu(in) : OnCpu(in, 0.02);
  pop();
  return sum;
}

// The data are on the GPU before and afterwards.
uint32_t FallenBack(const char* name, uint32_t* data) {
  constexpr size_t kBytes = kCount * sizeof(uint32_t);
  std::vector<uint32_t> host(kCount);
  push(name);
  if (hipMemcpy(host.data(), data, kBytes, hipMemcpyDeviceToHost) != hipSuccess) Fail("copy");
  const uint32_t sum = OnCpu(host, 0);
  if (hipMemcpy(data, host.data(), kBytes, hipMemcpyHostToDevice) != hipSuccess) Fail("copy");
  pop();
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  std::vector<uint32_t> in(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = static_cast<uint32_t>(i * 7 + 3);
  const uint32_t wanted = OnCpu(in, 0);
  uint32_t sum = wanted;
  const auto check = [&](uint32_t got) {
    if (got != wanted) sum = got;
  };

  if (mode == "malloc" || mode == "late" || mode == "retry") {
    if (mode == "late")
      for (int i = 0; i < 3; ++i) check(OnGpu(in));
    void* memory = nullptr;
    if (hipMalloc(&memory, kAbsurd) == hipSuccess) Fail("there is that much memory");
    check(mode == "retry" ? OnGpu(in) : OnCpu(in, 1.5));
  } else if (mode == "ranges" || mode == "healthy") {
    const bool healthy = mode == "healthy";
    FindRoctx();
    check(OnGpu(in));
    for (int step = 0; step < 8; ++step) {
      push("step");
      push("read the batch");
      pop();
      check(Operator("matmul", in, true));
      check(Operator("gelu", in, healthy));
      check(Operator("softmax", in, healthy || step % 2 == 0));
      pop();
    }
  } else if (mode == "copies") {
    FindRoctx();
    void* data = nullptr;
    if (hipMalloc(&data, kCount * sizeof(uint32_t)) != hipSuccess) Fail("memory");
    if (hipMemcpy(data, in.data(), kCount * sizeof(uint32_t), hipMemcpyHostToDevice) != hipSuccess)
      Fail("copy");
    for (int step = 0; step < 12; ++step) {
      check(Operator("matmul", in, true));
      check(FallenBack("nll_loss", static_cast<uint32_t*>(data)));
      push("reference");
      check(Operator("matmul", in, false));
      pop();
    }
  } else if (mode == "quit") {
    check(OnGpu(in));
    check(OnCpu(in, 0.8));
    if (sum == wanted) _exit(0);
  } else {
    Fail("malloc, late, ranges, copies, healthy, quit or retry?");
  }
  if (sum != wanted) Fail("wrong sum");
  printf("PASS fallback %s: %u\n", mode.c_str(), sum);
  return 0;
}
