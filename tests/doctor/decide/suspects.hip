// SPDX-License-Identifier: MIT
//
// Programs that fail with two kernels in flight, whose code does not tell which of them it was:
// `suspects NAME`. Kernels called Guilty... fail; kernels called Innocent... never do. decide.py
// knows what `rochound doctor decide` is to find. Addresses are computed by a loop from values in
// memory, so that nobody can tell them from the code. Ends with 0 if nothing failed.

#include <hip/hip_runtime.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

namespace {

constexpr size_t kMebi = 1 << 20;
constexpr size_t kInts = kMebi / sizeof(int);

void Check(hipError_t error, const char* call, int line) {
  if (error == hipSuccess) return;
  printf("line %d: %s gave %s\n", line, call, hipGetErrorName(error));
  fflush(stdout);
  _exit(4);
}
#define HIP(...) Check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

}  // namespace

// Addresses that only the values in memory tell.
__device__ size_t Place(const unsigned* seed) {
  unsigned place = threadIdx.x;
  for (unsigned i = 0; i < seed[64 + threadIdx.x]; ++i) {
    place += seed[threadIdx.x];
    asm volatile("" : "+v"(place));
  }
  return place;
}

// Takes a while, then writes where it may.
__global__ void InnocentLater(int* data, const unsigned* seed, long long ticks) {
  const long long start = wall_clock64();
  while (wall_clock64() - start < ticks) __builtin_amdgcn_s_sleep(10);
  data[Place(seed)] = 1;
}

__global__ void InnocentWait(int* data, const unsigned* seed, volatile int* release) {
  while (*release == 0) __builtin_amdgcn_s_sleep(10);
  data[Place(seed)] = 1;
}

__global__ void GuiltyPlace(int* data, const unsigned* seed) { data[Place(seed)] = 1; }
__global__ void GuiltyRead(int* data, const unsigned* seed, int* out) {
  out[threadIdx.x] = data[Place(seed)];
}
__global__ void GuiltyTable(int** table, const unsigned* seed) { *table[Place(seed)] = 1; }

// Touches memory when it is too late.
__global__ void LateReader(const int* data, const unsigned* seed, int* out, long long ticks) {
  const long long start = wall_clock64();
  while (wall_clock64() - start < ticks) __builtin_amdgcn_s_sleep(10);
  out[threadIdx.x] = data[Place(seed)];
}

namespace {

template <typename T>
T* Device(size_t count) {
  T* memory = nullptr;
  HIP(hipMalloc(&memory, count * sizeof(T)));
  HIP(hipMemset(memory, 0, count * sizeof(T)));
  HIP(hipDeviceSynchronize());
  return memory;
}

hipStream_t Stream() {
  hipStream_t stream = nullptr;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

unsigned* Seed(unsigned first, unsigned second) {
  unsigned* const seed = Device<unsigned>(128);
  unsigned values[128];
  for (int i = 0; i < 128; ++i) values[i] = i < 64 ? first : second;
  HIP(hipMemcpy(seed, values, sizeof values, hipMemcpyHostToDevice));
  return seed;
}

long long Ticks(double seconds) {
  int khz = 0;
  HIP(hipDeviceGetAttribute(&khz, hipDeviceAttributeWallClockRate, 0));
  return static_cast<long long>(seconds * 1000 * khz);
}

int* data = nullptr;

void Beside() {
  InnocentLater<<<1, 64, 0, Stream()>>>(data, Seed(3, 5), Ticks(3));
  usleep(300000);
}

void OutOfBounds() {
  unsigned* const seed = Seed(1 << 20, 1 << 9);
  Beside();
  GuiltyPlace<<<1, 64, 0, Stream()>>>(data, seed);
}

void Read() {
  unsigned* const seed = Seed(1 << 20, 1 << 9);
  int* const out = Device<int>(64);
  Beside();
  GuiltyRead<<<1, 64, 0, Stream()>>>(data, seed, out);
}

void Freed() {
  int* const gone = Device<int>(64 * kInts);
  unsigned* const seed = Seed(15 << 10, 1 << 10);
  unsigned* const good = Seed(3, 5);
  const hipStream_t one = Stream();
  const hipStream_t other = Stream();
  for (const hipStream_t stream : {one, other}) InnocentLater<<<1, 64, 0, stream>>>(data, good, 0);
  HIP(hipDeviceSynchronize());
  HIP(hipFree(gone));  // nothing is allocated after it, which might lie there
  InnocentLater<<<1, 64, 0, one>>>(data, good, Ticks(3));
  usleep(300000);
  GuiltyPlace<<<1, 64, 0, other>>>(gone, seed);
}

void Null() {
  int** const table = Device<int*>(128);
  unsigned* const seed = Seed(2, 9);
  Beside();
  GuiltyTable<<<1, 64, 0, Stream()>>>(table, seed);
}

// Nothing is wrong with any kernel alone: the host takes memory away too early.
void Race() {
  void* const host =
      mmap(nullptr, kMebi, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  HIP(hipHostRegister(host, kMebi, hipHostRegisterDefault));
  void* seen = nullptr;
  HIP(hipHostGetDevicePointer(&seen, host, 0));
  LateReader<<<1, 64, 0, Stream()>>>(static_cast<int*>(seen), Seed(3, 5), Device<int>(64),
                                     Ticks(2));
  munmap(host, kMebi);
}

// With one kernel at a time it does not end: the first one waits for the host.
void Waits() {
  void* release = nullptr;
  HIP(hipHostMalloc(&release, sizeof(int), hipHostMallocDefault));
  *static_cast<volatile int*>(release) = 0;
  unsigned* const seed = Seed(1 << 20, 1 << 9);
  InnocentWait<<<1, 64, 0, Stream()>>>(data, Seed(3, 5), static_cast<int*>(release));
  usleep(300000);
  GuiltyPlace<<<1, 64, 0, Stream()>>>(data, seed);
}

void Clean() { InnocentLater<<<1, 64>>>(data, Seed(3, 5), Ticks(0.1)); }

const std::map<std::string, std::function<void()>> kPrograms = {
    {"out_of_bounds", OutOfBounds},
    {"read", Read},
    {"freed", Freed},
    {"null", Null},
    {"race", Race},
    {"waits", Waits},
    {"clean", Clean},
};

}  // namespace

int main(int argc, char** argv) {
  const auto program = kPrograms.find(argc > 1 ? argv[1] : "");
  if (program == kPrograms.end()) {
    for (const auto& [name, run] : kPrograms) printf("%s\n", name.c_str());
    return 2;
  }
  alarm(60);
  data = Device<int>(kInts);
  program->second();
  const hipError_t error = hipDeviceSynchronize();
  printf("error=%s\n", hipGetErrorName(error));
  fflush(stdout);
  if (error == hipSuccess) return 0;
  _exit(1);
}
